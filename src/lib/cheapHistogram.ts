import { Histogram, type HistogramConfiguration } from 'prom-client'

type Configuration<L extends string> = HistogramConfiguration<L> & { buckets: number[] }

interface Series<L extends string> {
  labels: Partial<Record<L, string>>
  /** Of each bucket alone; the last one's are beyond all bounds. */
  counts: number[]
  sum: number
}

/**
 * A histogram that counts in plain numbers until it is read: prom-client's finds labels and bucket by their texts, which costs as
 * much as a fifth of a small RPC call. At a scrape both read the same.
 */
export class CheapHistogram<L extends string> extends Histogram<L> {
  private readonly configuration: Configuration<L>
  private readonly series: Series<L>[] = []

  constructor(configuration: Configuration<L>) {
    super(configuration)
    this.configuration = configuration
  }

  /** Begins a series, and returns what adds a value to it. */
  begin(labels: Partial<Record<L, string>>): (value: number) => void {
    const { buckets: bounds } = this.configuration
    const series: Series<L> = { labels, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }
    this.series.push(series)
    return (value) => {
      let bucket = 0
      while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.sum += value
    }
  }

  /** What the registry and `get` read; prom-client's types do not have it. */
  async getForPromString() {
    const { name, help, buckets: bounds, aggregator = 'sum' } = this.configuration
    const values = this.series.flatMap(({ labels, counts, sum }) => {
      let total = 0
      const buckets = counts.map((count, index) => {
        total += count
        return { labels: { le: bounds[index] ?? '+Inf', ...labels }, value: total, metricName: `${name}_bucket` }
      })
      return [
        ...buckets,
        { labels, value: sum, metricName: `${name}_sum` },
        { labels, value: total, metricName: `${name}_count` },
      ]
    })
    return { name, help, type: 'histogram', values, aggregator }
  }
}
