//! Codes of training and of execution on several devices (E09..).

super::codes! { TRAINING, Spec:
    /// A training binding refers to something that does not exist, or assigns twice.
    ///
    /// A binding assigns an output of its graph (for updates, of the main graph too) to an initializer of the
    /// main or the training graph. Each initializer is assigned at most once. Source: onnx.proto, TrainingInfoProto.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[2] w2) { w2 = Sub(w, t) }, update_binding: ["ghost": "w2"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[2] w2) { w2 = Sub(w, t) }, update_binding: ["w": "w2"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    Error TRAINING_BINDINGS = "E0901", "training-bindings", "R01";

    /// The initialization graph of a training has inputs, or is missing.
    ///
    /// It computes the initial values without inputs, and is required if there are initialization bindings. Source:
    /// onnx.proto, TrainingInfoProto.initialization.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21], training_info: {initialization_binding: ["w": "w0"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {initialization: i () => (float[2] w0) { w0 = Constant <value_floats = [0.0, 0.0]> () },
    ///    initialization_binding: ["w": "w0"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    Error TRAINING_INITIALIZATION = "E0902", "training-initialization", "R02";

    /// The main graph and the graph of a training step conflict.
    ///
    /// The step runs as one graph, the main one followed by its own: it may read values of the main graph but
    /// must not redefine them, and the main graph must not read its values. Source: onnx.proto,
    /// TrainingInfoProto.algorithm.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[2] y) { y = Sub(w, t) }, update_binding: ["w": "y"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[2] w2) { w2 = Sub(w, t) }, update_binding: ["w": "w2"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    Error TRAINING_GRAPHS = "E0903", "training-graphs", "R03";

    /// A training binding assigns a value of another type.
    ///
    /// The value must have the element type and shape of the initializer. Source: IR.md, Training Related
    /// Information.
    ///
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[3] w2) { w2 = Sub(w, t) }, update_binding: ["w": "w2"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// <ir_version: 10, opset_import: ["": 21],
    ///  training_info: {algorithm: s (float[2] t) => (float[2] w2) { w2 = Sub(w, t) }, update_binding: ["w": "w2"]}>
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    Error TRAINING_BINDING_TYPE = "E0904", "training-binding-type", "R04";

    /// A device configuration is invalid.
    ///
    /// It must have a unique name, at least one device, and as many names of devices as there are devices, or
    /// none. Source: IR.md, Device Configurations.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 0}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: []
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: []
    ///   y = Relu(x)
    /// }
    /// ```
    Error DEVICE_CONFIGURATION = "E0921", "device-configuration", "C01"
        => "devices do not change what is computed";

    /// A node refers to a device configuration that does not exist, or twice to one.
    ///
    /// `configuration_id` must be the name of a configuration of the model. Source: IR.md, Node Device
    /// Configuration.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "d", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Error NODE_CONFIGURATION_ID = "E0922", "node-configuration-id", "C02"
        => "devices do not change what is computed";

    /// A sharding does not refer to a tensor of its node.
    ///
    /// `tensor_name` must be an input or output of the node. Source: IR.md, Sharding Specification.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "ghost", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Error SHARDING_TENSOR = "E0923", "sharding-tensor", "C03"
        => "devices do not change what is computed";

    /// A sharding refers to a device that the configuration does not have.
    ///
    /// Devices are numbered from 0, or are keys of the map of groups, whose members are such numbers; each
    /// key is defined once and used. Source: IR.md, Sharding Specification.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 7], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Error SHARDING_DEVICES = "E0924", "sharding-devices", "C04"
        => "devices do not change what is computed";

    /// A sharding splits an axis that the tensor does not have, or one twice.
    ///
    /// For rank r, axes are -r to r-1. Source: IR.md, Sharded Dimension.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 5, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: -1, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Error SHARDING_AXIS = "E0925", "sharding-axis", "C05"
        => "devices do not change what is computed";

    /// The number of shards of an axis is not positive.
    ///
    /// It must be at least 1. Source: IR.md, Simple Sharded Dimension.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 0}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Error SHARDING_SHARDS = "E0926", "sharding-shards", "C06"
        => "devices do not change what is computed";

    /// The number of shards is not the number of devices.
    ///
    /// Over all axes the product of the numbers of shards should be the number of devices listed. Source: IR.md,
    /// Simple Sharded Dimension.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 3}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    /// ```text
    /// #@ onnxtxt 1
    /// #@ configuration: [{name: "c", num_devices: 2}]
    /// <ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float[N] y) {
    ///   #@ device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0, 1], sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]
    ///   y = Relu(x)
    /// }
    /// ```
    Warning SHARDING_DEVICE_COUNT = "W0927", "sharding-device-count";
}
