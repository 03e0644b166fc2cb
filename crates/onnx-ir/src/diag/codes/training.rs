//! Codes of training and of execution on several devices (E09..).

super::codes! { TRAINING, Spec:
    /// A training binding names something that does not exist, or assigns twice.
    ///
    /// A binding assigns an output of its graph (for updates, of the main graph too) to an initializer of the
    /// main or the training graph. Each initializer is assigned once. Source: onnx.proto, TrainingInfoProto.
    Error TRAINING_BINDINGS = "E0901", "training-bindings", "R01";

    /// The graph that initializes a training has inputs, or is missing.
    ///
    /// It makes the first values from nothing, and there is one when there are bindings for it. Source:
    /// onnx.proto, TrainingInfoProto.initialization.
    Error TRAINING_INITIALIZATION = "E0902", "training-initialization", "R02";

    /// The main graph and the graph of a training step do not fit together.
    ///
    /// The step runs as one graph, the main one followed by its own: it reads values of the main graph and
    /// defines none of their names again, and the main graph reads nothing of it. Source: onnx.proto,
    /// TrainingInfoProto.algorithm.
    Error TRAINING_GRAPHS = "E0903", "training-graphs", "R03";

    /// A training binding assigns a value of another type.
    ///
    /// What is assigned has the element type and shape of the initializer. Source: IR.md, Training Related
    /// Information.
    Error TRAINING_BINDING_TYPE = "E0904", "training-binding-type", "R04";

    /// A device configuration is not sound.
    ///
    /// It has a name of its own, at least one device, and as many names of devices as there are devices, or
    /// none. Source: IR.md, Device Configurations.
    Error DEVICE_CONFIGURATION = "E0921", "device-configuration", "C01";

    /// A node refers to a device configuration that does not exist, or twice to one.
    ///
    /// `configuration_id` is the name of a configuration of the model. Source: IR.md, Node Device
    /// Configuration.
    Error NODE_CONFIGURATION_ID = "E0922", "node-configuration-id", "C02";

    /// A sharding names no tensor of its node.
    ///
    /// `tensor_name` is an input or output of the node. Source: IR.md, Sharding Specification.
    Error SHARDING_TENSOR = "E0923", "sharding-tensor", "C03";

    /// A sharding names a device that the configuration does not have.
    ///
    /// Devices are numbered from 0, or are keys of the map of groups, whose members are such numbers; each
    /// key is given once and used. Source: IR.md, Sharding Specification.
    Error SHARDING_DEVICES = "E0924", "sharding-devices", "C04";

    /// A sharding splits an axis that the tensor does not have, or one twice.
    ///
    /// For rank r, axes are -r to r-1. Source: IR.md, Sharded Dimension.
    Error SHARDING_AXIS = "E0925", "sharding-axis", "C05";

    /// A sharding makes no shards, or not as many as there are devices.
    ///
    /// The number of shards of an axis is at least 1; over all axes their product should be the number of
    /// devices listed (a warning). Source: IR.md, Simple Sharded Dimension.
    Error SHARDING_SHARDS = "E0926", "sharding-shards", "C06";
}
