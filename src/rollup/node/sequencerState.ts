import { open, readFile, rename } from 'node:fs/promises'
import { describeError, UsageError } from '../../lib/errors.ts'

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
    async write(sequencerStarted) {
      const temporary = `${path}.tmp`
      const file = await open(temporary, 'w', 0o600)
      try {
        await file.writeFile(JSON.stringify({ sequencerStarted }))
        await file.sync()
      } finally {
        await file.close()
      }
      // The rename is atomic: after a crash the file is the old one or the new one.
      await rename(temporary, path)
    },
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
