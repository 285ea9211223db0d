import type { Registry } from 'prom-client'

/** The value of a metric, whose name has its labels where it has some: `x_total{error="late"}`. Undefined: there is none. */
export async function metricValue(registry: Pick<Registry, 'metrics'>, name: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length))
}
