//! A load of a trial, by a tool on this machine or by load hosts.
//!
//! In three steps, so that a window contains only the second: the tool's input is written ([`Bench::prepare`]), the
//! tool runs ([`Bench::put_on`]), and its output is read ([`Bench::read`]). [`Bench::run_load`] is all three.

use super::Bench;
use super::tool::{Order, Prepared, Ran, Runner, failed, keep_template};
use crate::run::ended::Ended;
use crate::run::hosts::{Launch, Launched};
use bench_core::load::load_tool::Bodies;
use bench_core::load::{Capability, LoadSample};
use bench_core::plan::Trial;
use bench_core::target::Target;

/// A load that is ready to be put on: by a tool on this machine, or by load hosts, which wait for their start.
pub(super) enum Ready {
    Here(Prepared),
    Hosts(Launched),
}

impl Bench<'_> {
    /// Puts a load on a target and reads the result. The tool's output is kept, and the
    /// requests of an open loop as `<what>.records.csv.gz`.
    pub(in crate::run) fn run_load(
        &self,
        trial: &Trial,
        order: Order,
        mut bodies: Bodies<'_>,
        target: &Target,
    ) -> Ended<LoadSample> {
        let prepared = self.prepare(trial, order, &mut bodies, target)?;
        let ran = self.put_on(&prepared)?;
        self.read(&prepared, &ran)
    }

    /// Writes the tool's input. Bodies are taken from the stream here, all that the load needs.
    ///
    /// # Errors
    /// The folder takes no more, a body has more than one line, or the run was begun without this tool.
    pub(super) fn prepare(
        &self,
        trial: &Trial,
        order: Order,
        bodies: &mut Bodies<'_>,
        target: &Target,
    ) -> Ended<Ready> {
        // Each tool looks a name up in its own way, so all get the address, and the name in a header.
        let url = target.socket_url();
        let order = match target.host() {
            Some(host) if url != target.url() => order.with_host(host),
            _ => order,
        };
        let Order { what, tool, ref load, .. } = order;
        let bodies_asked = (!matches!(bodies, Bodies::One(_))).then_some(Capability::SeveralBodies);
        tool.check(bodies_asked).map_err(|error| failed(what, error.to_string()))?;
        tool.check([Capability::Over(target.transport())])?;
        let stem = self.folder.tool_output(trial, what);
        if let Some(pool) = &self.plan.hosts {
            let launch = Launch { pool, order, url, stem, tools: self.tools };
            return Ok(Ready::Hosts(launch.start(bodies, self.interrupt)?));
        }
        let template = keep_template(self.folder, tool)?;
        let is_known = tool.can(Capability::Users) || matches!(bodies, Bodies::One(_));
        let known = if is_known { self.known_to(trial, load, bodies)? } else { Vec::new() };
        Prepared::new(order, template, stem, &url, &known, bodies).map(Ready::Here)
    }

    /// Runs load tools as this plan says.
    fn runner(&self) -> Runner<'_> {
        let placement = self.plan.campaign.environment.placement;
        Runner { tools: self.tools, placement, interrupt: self.interrupt }
    }

    /// Runs what was prepared, here or on load hosts.
    pub(super) fn put_on(&self, prepared: &Ready) -> Ended<Ran> {
        match prepared {
            Ready::Here(prepared) => self.runner().put_on(prepared),
            Ready::Hosts(launched) => launched.put_on(self.interrupt),
        }
    }

    /// Reads what came of it, and keeps its requests.
    pub(super) fn read(&self, prepared: &Ready, ran: &Ran) -> Ended<LoadSample> {
        match prepared {
            Ready::Here(prepared) => self.runner().read(prepared, ran),
            Ready::Hosts(launched) => launched.read(),
        }
    }
}
