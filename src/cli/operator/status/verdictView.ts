import type { z } from 'zod'
import { redact } from '../../../jsonRpc/credentials.ts'
import { THE_SEQUENCER } from '../../../rollup/node/health/facts.ts'
import { nodeHealth } from '../../../rpc/schemas/health.ts'
import { plainText, terminalWidth, wrapText } from '../../shared/table.ts'
import type { Line, Style } from '../../shared/terminal/styledLine.ts'
import { DEFAULT_RPC } from '../nodeCommand.ts'

/** The fields of devium_health that commands show. Validated, because another program may listen at that address. */
export const healthSchema = nodeHealth.pick({ state: true, text: true, causes: true, node: true })
export type ShownHealth = z.infer<typeof healthSchema>

/** Exit code of a command that found an unhealthy node. */
export const NOT_HEALTHY_EXIT_CODE = 3

const STYLES: Record<ShownHealth['state'], Style> = { healthy: 'good', degraded: 'notable', stopped: 'bad' }

/** Options for the terminal of a command that queried `rpc`. */
export function verdictOptions({ rpc }: { rpc: string }): VerdictOptions {
  const isDefault = rpc === DEFAULT_RPC || rpc === process.env.DEVIUM_RPC
  return { width: terminalWidth(), rpc: isDefault ? undefined : redact(rpc) }
}

export interface VerdictOptions {
  width?: number | undefined
  /** The node's address, if it is not the default. Suggested commands then contain it. */
  rpc?: string | undefined
}

/** The verdict and its causes, each with the command that resolves it. */
export function verdictLines({ state, text, causes }: ShownHealth, { width, rpc }: VerdictOptions = {}): Line[] {
  const [first, ...others] = causes
  const [headline = '', ...rest] = wrapText(plainText(text), width, 0).split('\n')
  // The state is the last word of the first sentence.
  const end = headline.indexOf(`is ${state}.`) + `is ${state}.`.length
  return [
    [{ text: headline.slice(0, end), style: STYLES[state] }, headline.slice(end)],
    ...rest,
    ...commandLines(first?.command ?? null, rpc),
    ...others.flatMap((cause) => [
      ...wrapText(plainText(cause.text), width, 0).split('\n'),
      ...commandLines(cause.command, rpc),
    ]),
  ]
}

/** A suggested command with the address of its node. `sequencerRpc`: the address of the chain's sequencer, if known. */
export function typedCommand(command: string, rpc: string | undefined, sequencerRpc?: string): string {
  const whole = sequencerRpc === undefined ? command : command.replace(THE_SEQUENCER, sequencerRpc)
  const isComplete = rpc === undefined || !whole.startsWith('devium ') || whole.includes(' --rpc ')
  return plainText(isComplete ? whole : `${whole} --rpc ${rpc}`)
}

/** `  → devium sequencer start`; empty if no command helps. */
export function commandLines(command: string | null, rpc: string | undefined, sequencerRpc?: string): Line[] {
  return command === null ? [] : [[{ text: `  → ${typedCommand(command, rpc, sequencerRpc)}`, style: 'bold' }]]
}
