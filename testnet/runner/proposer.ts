import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { roles } from '../accounts.ts'
import { l1Addresses } from '../l1/contracts.ts'
import { OutputProposer } from '../l1/outputProposer.ts'
import { createOwnLogger } from './ownLog.ts'
import type { TestnetSetup } from './setup.ts'

export type RunningProposer = ReturnType<typeof startProposer>

/** The proposer of a testnet's outputs. It runs in this process and has a log like the programs. */
export function startProposer(
  clients: { l1: RpcClient; rollup: RpcClient },
  { chain, layout }: Pick<TestnetSetup, 'chain' | 'layout'>,
) {
  const proposer = new OutputProposer(
    { ...clients, logger: createOwnLogger(layout.log('proposer')), clock: systemClock },
    {
      oracle: l1Addresses(roles.owner.address).L2OutputOracle,
      proposer: roles.proposer,
      l1ChainId: chain.l1ChainId,
      // Polls L1 and the node twice an L1 block.
      pollMs: Math.min(1000, chain.l1BlockTime * 500),
    },
  )
  const stopping = new AbortController()
  const proposing = proposer.run(stopping.signal)
  return {
    proposer,
    async stop(): Promise<void> {
      stopping.abort()
      await proposing
    },
  }
}
