import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/**
 * Creates the metrics of one part of a program. They share a registry and a name prefix. `prefix` is complete, for
 * example `op_node_default_`.
 */
export function createMetricMakers(registry: Registry, prefix: string) {
  const registers = [registry]
  /** Plain counters, converted to metrics at each scrape: some events occur ten thousand times a second. */
  const countEvents = (name: string, help: string, label: string | undefined) => {
    const seen = new Map<string, { count: number; lastMs: number }>()
    const labelNames = label === undefined ? [] : [label]
    const labels = (value: string): Record<string, string> => (label === undefined ? {} : { [label]: value })
    // A metric without a label exists from the start.
    if (label === undefined) seen.set('', { count: 0, lastMs: 0 })
    new Counter({
      name: `${prefix}${name}_total`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const [value, { count }] of seen) this.inc(labels(value), count)
      },
    })
    new Gauge({
      name: `${prefix}last_${name}_unix`,
      help: `Time of the last event of: ${help}`,
      labelNames,
      registers,
      collect() {
        for (const [value, { lastMs }] of seen) this.set(labels(value), Math.floor(lastMs / 1000))
      },
    })
    return (value: string) => {
      const known = seen.get(value)
      if (known === undefined) seen.set(value, { count: 1, lastMs: Date.now() })
      else {
        known.count++
        known.lastMs = Date.now()
      }
    }
  }
  return {
    /** op-node's pair for an event: a count (`<name>_total`) and the time of the last event (`last_<name>_unix`). */
    event(name: string, help: string): () => void {
      const count = countEvents(name, help, undefined)
      return () => count('')
    },
    /** Like `event`, with a label. */
    eventByLabel: (name: string, help: string, label: string): ((value: string) => void) =>
      countEvents(name, help, label),
    gauge: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge<L>({ name: prefix + name, help, labelNames: [...labelNames], registers }),
    counter: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter<L>({ name: prefix + name, help, labelNames: [...labelNames], registers }),
    /** The default buckets are prom-client's, which are also those of Go's client. */
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
    /** A gauge that is read at each scrape. It costs nothing between scrapes. */
    watched: (name: string, help: string, read: () => number) =>
      new Gauge({
        name: prefix + name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      }),
    /** Like `watched`, with one value for each label value. */
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
