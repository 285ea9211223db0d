import { z } from 'zod'
import { redact } from '../../../jsonRpc/credentials.ts'
import { THE_SEQUENCER } from '../../../rollup/node/health/facts.ts'
import { plainText, terminalWidth, wrapText } from '../../shared/table.ts'
import type { Line, Style } from '../../shared/terminal/styledLine.ts'
import { DEFAULT_RPC } from '../nodeCommand.ts'

// A remote answer is checked before it is shown: another program may listen at that address.
const causeSchema = z.object({ code: z.string(), text: z.string(), command: z.string().nullable() })
/** devium_health, as commands show it. */
export const healthSchema = z.object({
  state: z.enum(['healthy', 'degraded', 'stopped']),
  text: z.string(),
  causes: z.array(causeSchema),
  node: z.object({
    name: z.string().nullable(),
    role: z.string(),
    version: z.string(),
    chainId: z.string(),
    network: z.string().nullable(),
    peerID: z.string().nullable(),
  }),
})
export type ShownHealth = z.infer<typeof healthSchema>

/** Of a command that found a node which is not healthy. */
export const NOT_HEALTHY_EXIT_CODE = 3

const STYLES: Record<ShownHealth['state'], Style> = { healthy: 'good', degraded: 'notable', stopped: 'bad' }

/** For the terminal of a command that was asked to look at `rpc`. */
export function verdictOptions({ rpc }: { rpc: string }): VerdictOptions {
  const isDefault = rpc === DEFAULT_RPC || rpc === process.env.DEVIUM_RPC
  return { width: terminalWidth(), rpc: isDefault ? undefined : redact(rpc) }
}

export interface VerdictOptions {
  width?: number | undefined
  /** Where the node was asked, if not where a command asks by itself: commands are shown with it. */
  rpc?: string | undefined
}

/** The verdict and its causes, each with the command that ends it. */
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

/** A command of the node at `rpc`, as it is typed here; `sequencerRpc`: of the chain's sequencer, where it is known. */
export function typedCommand(command: string, rpc: string | undefined, sequencerRpc?: string): string {
  const whole = sequencerRpc === undefined ? command : command.replace(THE_SEQUENCER, sequencerRpc)
  const isComplete = rpc === undefined || !whole.startsWith('devium ') || whole.includes(' --rpc ')
  return plainText(isComplete ? whole : `${whole} --rpc ${rpc}`)
}

/** `  → devium sequencer start`; nothing where no command helps. */
export function commandLines(command: string | null, rpc: string | undefined, sequencerRpc?: string): Line[] {
  return command === null ? [] : [[{ text: `  → ${typedCommand(command, rpc, sequencerRpc)}`, style: 'bold' }]]
}
