import type { DerivationStatus } from './answers.ts'
import { ago, duration, sentence } from './format.ts'

/** Rows for the active fork, the next fork's time, and whether this node supports it. */
export function forkRows({ active, next }: DerivationStatus['forks'], nowMs: number): [string, string][] {
  const rows: [string, string][] = [['Fork', forkName(active)]]
  if (next === null) return rows
  const { name, time, ready, problem } = next
  const atMs = time * 1_000
  const when = atMs > nowMs ? `in ${duration(atMs - nowMs)}` : ago(nowMs, atMs)
  const date = `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const readiness =
    ready === null
      ? 'The readiness of the execution client is unknown.'
      : ready
        ? 'This node is ready.'
        : sentence(problem ?? 'This node is not ready')
  return [...rows, ['Next fork', `${forkName(name)} ${when} (${date}). ${readiness}`]]
}

function forkName(fork: string): string {
  return fork.charAt(0).toUpperCase() + fork.slice(1)
}
