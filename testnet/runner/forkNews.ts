import type { Fork } from '../../src/rollup/protocol/index.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { forksAround } from '../forks.ts'
import { type Emit, forkPlan } from './events.ts'
import type { TestnetStatus } from './status.ts'

/** Which forks are active, and events of those that were activated while the testnet runs. */
export class ForkNews {
  /** The sequencer's head before it makes a block; undefined: not known yet, so nothing is told. */
  headAtStart: number | undefined
  private readonly emit: Emit
  private readonly chain: ChainParameters
  private readonly told = new Set<Fork>()

  constructor(emit: Emit, chain: ChainParameters, headAtStart: number | undefined) {
    this.emit = emit
    this.chain = chain
    this.headAtStart = headAtStart
  }

  /** The forks around a head. Tells of those that came since the call before. */
  at(head: number): NonNullable<TestnetStatus['fork']> {
    const { genesisTime, blockTime, forks } = this.chain
    for (const { fork, time } of forkPlan(this.chain).later) {
      const block = Math.ceil((time - genesisTime) / blockTime)
      if (block > head || this.told.has(fork)) continue
      this.told.add(fork)
      // On a kept chain, not what was so before.
      if (this.headAtStart !== undefined && block > this.headAtStart) this.emit({ event: 'fork', fork, block })
    }
    return forksAround(forks, genesisTime + head * blockTime)
  }
}
