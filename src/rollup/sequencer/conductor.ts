import type { PayloadEnvelope } from '../protocol/types.ts'

/** Who decides which of several sequencers makes the blocks, as the sequencer asks it. */
export interface Conductor {
  /** False: this sequencer is the only one. */
  readonly enabled: boolean
  /** Rejects when nobody can tell. */
  isLeader(): Promise<boolean>
  /** Resolves once all sequencers know the block; rejects when this one is not their leader. */
  commit(envelope: PayloadEnvelope): Promise<void>
  /** From here on this sequencer leads and commits nothing, until the process ends. */
  overrideLeader(): void
}

/** A sequencer on its own. */
export const noConductor: Conductor = {
  enabled: false,
  isLeader: async () => true,
  commit: async () => {},
  overrideLeader: () => {},
}
