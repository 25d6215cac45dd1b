import { Counter, Gauge, type Metric, Registry, collectDefaultMetrics, register } from 'prom-client';
import { showBuild } from '#platform/config/build-info';

type StatesOf<State> = readonly (readonly [labels: Record<string, string>, state: State | undefined])[];

/** To extend: the metrics of a process, with those that every one has. */
export class Metrics {
  readonly registry = new Registry();

  /** @param build name of the metric of what runs */
  constructor(build: string) {
    collectDefaultMetrics({ register: this.registry });
    showBuild(build, this.registry);
  }

  /** In the Prometheus text format, including metrics that modules registered in prom-client's default registry. */
  metrics(): Promise<string> {
    const all = new Registry();
    for (const metric of [...this.registry.getMetricsAsArray(), ...register.getMetricsAsArray()])
      if (!all.getSingleMetric(metric.name)) all.registerMetric(metric as unknown as Metric);
    return all.metrics();
  }

  protected counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  protected gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  /** Computed at each scrape, so that it changes even while nothing happens. */
  protected computed(name: string, help: string, value: () => number): void {
    this.collected(name, help, [], (gauge) => gauge.set(value()));
  }

  /** The same with labels. */
  protected collected(name: string, help: string, labelNames: string[], set: (gauge: Gauge) => void): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, labelNames, registers: [this.registry] },
      collect: () => set(gauge),
    });
  }

  /** 1 for the current state of each, and 0 for its others. The last label is the state's. */
  protected states<State extends string>(
    name: string,
    help: string,
    labelNames: string[],
    all: readonly State[],
    current: () => StatesOf<State>,
  ): void {
    this.collected(name, help, labelNames, (gauge) => {
      for (const [labels, state] of current())
        for (const each of all) gauge.set({ ...labels, [labelNames.at(-1)!]: each }, Number(each === state));
    });
  }
}
