import { readFile } from 'node:fs/promises'
import { describeError, UsageError } from '../../lib/errors.ts'
import { writeWhole } from '../../lib/wholeFile.ts'

/** op-node's `rpc.admin-state` file: whether the sequencer was started when it was last changed. */
export interface SequencerState {
  /** Undefined when the file does not exist yet. */
  read(): Promise<boolean | undefined>
  write(sequencerStarted: boolean): Promise<void>
}

export function createSequencerState(path: string): SequencerState {
  return {
    async read() {
      let text: string
      try {
        text = await readFile(path, 'utf8')
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
        throw new UsageError(`cannot read admin state file ${path}: ${describeError(cause)}`, { cause })
      }
      const started = parseStarted(text)
      if (started === undefined) {
        throw new UsageError(`admin state file ${path} must hold a JSON object with a boolean sequencerStarted`)
      }
      return started
    },
    write: (sequencerStarted) => writeWhole(path, JSON.stringify({ sequencerStarted })),
  }
}

function parseStarted(text: string): boolean | undefined {
  try {
    const state: unknown = JSON.parse(text)
    if (typeof state !== 'object' || state === null || !('sequencerStarted' in state)) return undefined
    return typeof state.sequencerStarted === 'boolean' ? state.sequencerStarted : undefined
  } catch {
    return undefined
  }
}
