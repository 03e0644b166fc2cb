//! Compares declared types with inferred ones.
//!
//! Declarations complete unknown types. A contradiction is reported at the declaration, and the inferred type is used.

use super::node::index;
use super::walk::Engine;
use crate::facts::Ty;
use crate::facts::merge::{Conflict, meet};
use crate::facts::{Fact, FactSource};
use onnx_ir::diag::{Diagnostic, Entity, code};
use onnx_ir::{BodyId, Port, SecondaryMap, TypeId, ValueDef, ValueId};
use std::rc::Rc;

/// The declared types of the values of a body.
pub(super) type Declared = SecondaryMap<ValueId, Option<(TypeId, Entity)>>;

impl<'m> Engine<'m> {
    /// Sets the fact of a value, merged with its declaration.
    pub(super) fn define(&mut self, value: ValueId, mut fact: Fact) {
        if let Some((ty, place)) = self.frame.declared[value] {
            let declared = self.declared_type(ty);
            if fact.ty == Ty::Unknown {
                fact = Fact { ty: declared, value: fact.value, source: FactSource::Declared };
            } else {
                let (ty, conflict) = meet(&mut self.dims, &fact.ty, &declared);
                if let Some(conflict) = conflict {
                    let verb = if fact.source == FactSource::Stored {
                        "the stored tensor is"
                    } else {
                        "inference gives"
                    };
                    self.conflict(conflict, place, &declared, &fact.ty, verb);
                }
                fact.ty = ty;
            }
        }
        self.frame.facts[value] = fact;
    }

    pub(super) fn conflict(
        &mut self,
        conflict: Conflict,
        place: Entity,
        declared: &Ty,
        found: &Ty,
        verb: &str,
    ) {
        if self.quiet > 0 {
            return;
        }
        let name = self.name_at(place);
        let (declared, found) = (declared.text(&self.dims), found.text(&self.dims));
        let code = match conflict {
            Conflict::Type => &code::DECLARED_TYPE,
            Conflict::Shape => &code::DECLARED_SHAPE,
        };
        let message = format!("`{name}` is declared as {declared}, but {verb} {found}");
        let mut diagnostic = Diagnostic::new(code, place, message).label(format!("declared as {declared}"));
        if let Some((entity, what)) = self.definition_at(place) {
            diagnostic = diagnostic.related(entity, format!("{what} {found}"));
        }
        self.report(diagnostic);
    }

    /// The name of the declared value.
    fn name_at(&self, place: Entity) -> &'m str {
        let port = self.port_at(place);
        self.model.text(port.and_then(|p| p.name))
    }

    fn port_at(&self, place: Entity) -> Option<&'m Port> {
        let graphs = &self.body().graphs;
        match place {
            Entity::Input(_, g, i) => graphs[g].inputs.get(i as usize),
            Entity::Output(_, g, i) => graphs[g].outputs.get(i as usize),
            Entity::ValueInfo(_, g, i) => graphs[g].value_info.get(i as usize),
            _ => None,
        }
    }

    /// The place that computes the declared value.
    fn definition_at(&self, place: Entity) -> Option<(Entity, &'static str)> {
        let value = self.port_at(place)?.value?;
        match self.body().values[value].def {
            ValueDef::Output(node, i) => Some((Entity::NodeOutput(self.frame.body, node, i), "this is")),
            ValueDef::Initializer(_) | ValueDef::Input(_) | ValueDef::Unbound(_) => None,
        }
    }

    /// The place where a value is defined.
    pub(super) fn origin(&self, value: ValueId) -> Option<(Entity, &'static str)> {
        let (b, body) = (self.body(), self.frame.body);
        Some(match b.values[value].def {
            ValueDef::Output(node, i) => (Entity::NodeOutput(body, node, i), "the output"),
            ValueDef::Input(graph) => {
                let at = b.graphs[graph].inputs.iter().position(|port| port.value == Some(value))?;
                (Entity::Input(body, graph, index(at)), "the input")
            }
            ValueDef::Initializer(graph) => {
                let at = b.graphs[graph].initializers.iter().position(|init| init.value == value)?;
                (Entity::Initializer(body, graph, index(at)), "the initializer")
            }
            ValueDef::Unbound(_) => return None,
        })
    }

    /// The type with this id.
    pub(super) fn declared_type(&mut self, id: TypeId) -> Ty {
        if let Some(ty) = &self.types[id] {
            return ty.clone();
        }
        let ty = Ty::declared(self.model, &mut self.dims, id);
        self.types[id] = Some(ty.clone());
        ty
    }

    pub(super) fn declared_in(&mut self, body: BodyId) -> Rc<Declared> {
        if let Some(declared) = self.declared.get(&body) {
            return Rc::clone(declared);
        }
        let mut declared = Declared::default();
        for (g, graph) in self.model.bodies[body].graphs.iter() {
            let mut note = |ports: &[Port], place: &dyn Fn(u32) -> Entity| {
                for (i, port) in ports.iter().enumerate() {
                    if let (Some(value), Some(ty)) = (port.value, port.ty)
                        && declared[value].is_none()
                    {
                        declared[value] = Some((ty, place(index(i))));
                    }
                }
            };
            note(&graph.inputs, &|i| Entity::Input(body, g, i));
            note(&graph.outputs, &|i| Entity::Output(body, g, i));
            note(&graph.value_info, &|i| Entity::ValueInfo(body, g, i));
        }
        let declared = Rc::new(declared);
        self.declared.insert(body, Rc::clone(&declared));
        declared
    }
}
