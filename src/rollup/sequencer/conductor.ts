import type { PayloadEnvelope } from '../protocol/types.ts'

/** Decides which of several sequencers builds the blocks. */
export interface Conductor {
  /** False: this sequencer is the only one. */
  readonly enabled: boolean
  /** Rejects if the leader is unknown. */
  isLeader(): Promise<boolean>
  /** Resolves when the cluster has stored the block. Rejects if this sequencer is not the leader. */
  commit(envelope: PayloadEnvelope): Promise<void>
  /** From now until the process ends, this sequencer counts as the leader and commits nothing. */
  overrideLeader(): void
}

/** The conductor of a single sequencer. */
export const noConductor: Conductor = {
  enabled: false,
  isLeader: async () => true,
  commit: async () => {},
  overrideLeader: () => {},
}
