import type { Fork } from '../../src/rollup/protocol/index.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { forksAround } from '../forks.ts'
import { type Emit, forkPlan } from './events.ts'
import type { TestnetStatus } from './status.ts'

/** Reports the active forks, and emits events for forks that activate while the testnet runs. */
export class ForkEvents {
  /** The sequencer's head before it builds a block. While it is undefined, no event is emitted. */
  headAtStart: number | undefined
  private readonly emit: Emit
  private readonly chain: ChainParameters
  private readonly emitted = new Set<Fork>()

  constructor(emit: Emit, chain: ChainParameters, headAtStart: number | undefined) {
    this.emit = emit
    this.chain = chain
    this.headAtStart = headAtStart
  }

  /** The forks around a head. Emits events for forks activated since the last call. */
  at(head: number): NonNullable<TestnetStatus['fork']> {
    const { genesisTime, blockTime, forks } = this.chain
    for (const { fork, time } of forkPlan(this.chain).later) {
      const block = Math.ceil((time - genesisTime) / blockTime)
      if (block > head || this.emitted.has(fork)) continue
      this.emitted.add(fork)
      // On a kept chain, skips forks activated before this start.
      if (this.headAtStart !== undefined && block > this.headAtStart) this.emit({ event: 'fork', fork, block })
    }
    return forksAround(forks, genesisTime + head * blockTime)
  }
}
