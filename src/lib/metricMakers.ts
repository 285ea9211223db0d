import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** A value of a metric. Values with the same labels are added up. */
export interface Sample {
  labels?: Readonly<Record<string, string>>
  value: number
}

/**
 * Creates the metrics of one part of a program. They share a registry and a name prefix. `prefix` is complete, for
 * example `op_node_default_`.
 */
export function createMetricMakers(registry: Registry, prefix: string) {
  const registers = [registry]
  /** A metric that is read at each scrape. It costs nothing between scrapes. */
  const sampled = (
    kind: 'gauge' | 'counter',
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Sample>,
  ): void => {
    const options = {
      name: prefix + name,
      help,
      labelNames: [...labelNames],
      registers,
      collect(this: { reset(): void; inc(labels: Record<string, string>, value: number): void }) {
        this.reset()
        for (const { labels = {}, value } of read()) this.inc(labels, value)
      },
    }
    if (kind === 'gauge') new Gauge(options)
    else new Counter(options)
  }
  /** Plain counters, converted to metrics at each scrape: some events occur ten thousand times a second. */
  const countEvents = (name: string, help: string, label: string | undefined) => {
    const seen = new Map<string, { count: number; lastMs: number }>()
    const labelNames = label === undefined ? [] : [label]
    // A metric without a label exists from the start.
    if (label === undefined) seen.set('', { count: 0, lastMs: 0 })
    const samples = (read: (event: { count: number; lastMs: number }) => number) => () =>
      [...seen].map(([value, event]) => ({
        labels: label === undefined ? {} : { [label]: value },
        value: read(event),
      }))
    sampled(
      'counter',
      `${name}_total`,
      help,
      labelNames,
      samples(({ count }) => count),
    )
    sampled(
      'gauge',
      `last_${name}_unix`,
      `Time of the last event of: ${help}`,
      labelNames,
      samples(({ lastMs }) => Math.floor(lastMs / 1000)),
    )
    return (value: string) => {
      const { count } = seen.get(value) ?? { count: 0 }
      seen.set(value, { count: count + 1, lastMs: Date.now() })
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
    sampled,
    /** A gauge without labels that is read at each scrape. */
    watched: (name: string, help: string, read: () => number) =>
      sampled('gauge', name, help, [], () => [{ value: read() }]),
    /** Like `watched`, with one value for each label value. */
    watchedByLabel: (
      kind: 'gauge' | 'counter',
      name: string,
      help: string,
      label: string,
      read: () => Readonly<Record<string, number>>,
    ) =>
      sampled(kind, name, help, [label], () =>
        Object.entries(read()).map(([labelled, value]) => ({ labels: { [label]: labelled }, value })),
      ),
  }
}
