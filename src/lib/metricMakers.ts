import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/**
 * Makes the metrics of one part of a program: they share a registry and the beginning of their names. `prefix` comes before
 * each as it is, for example `op_node_default_`.
 */
export function createMetricMakers(registry: Registry, prefix: string) {
  const registers = [registry]
  return {
    gauge: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge<L>({ name: prefix + name, help, labelNames: [...labelNames], registers }),
    counter: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter<L>({ name: prefix + name, help, labelNames: [...labelNames], registers }),
    /** Buckets are prom-client's, those of Go's client too, unless given. */
    histogram: <L extends string = never>(
      name: string,
      help: string,
      { labelNames = [], buckets }: { labelNames?: readonly L[]; buckets?: readonly number[] } = {},
    ) =>
      new Histogram<L>({
        name: prefix + name,
        help,
        labelNames: [...labelNames],
        registers,
        ...(buckets === undefined ? {} : { buckets: [...buckets] }),
      }),
    /** A gauge that is read at each scrape and costs nothing in between. */
    watched: (name: string, help: string, read: () => number) =>
      new Gauge({
        name: prefix + name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      }),
    /** As `watched`: a label's values with their figures. */
    watchedByLabel: <L extends string>(
      kind: 'gauge' | 'counter',
      name: string,
      help: string,
      label: L,
      read: () => Readonly<Record<string, number>>,
    ) => {
      const options = { name: prefix + name, help, labelNames: [label], registers }
      const labels = (value: string) => ({ [label]: value }) as Record<L, string>
      if (kind === 'gauge') {
        return new Gauge<L>({
          ...options,
          collect() {
            this.reset()
            for (const [value, amount] of Object.entries(read())) this.set(labels(value), amount)
          },
        })
      }
      return new Counter<L>({
        ...options,
        collect() {
          this.reset()
          for (const [value, amount] of Object.entries(read())) this.inc(labels(value), amount)
        },
      })
    },
  }
}
