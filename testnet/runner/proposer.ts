import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { roles } from '../accounts.ts'
import { l1Addresses } from '../l1/contracts.ts'
import { OutputProposer } from '../l1/outputProposer.ts'
import { createOwnLogger } from './ownLog.ts'
import type { TestnetSetup } from './setup.ts'

/** The proposer of a testnet's outputs, which runs in this process and has a log as the programs have. */
export function createProposer(
  clients: { l1: RpcClient; rollup: RpcClient },
  { chain, layout }: Pick<TestnetSetup, 'chain' | 'layout'>,
): OutputProposer {
  return new OutputProposer(
    { ...clients, logger: createOwnLogger(layout.log('proposer')), clock: systemClock },
    {
      oracle: l1Addresses(roles.owner.address).L2OutputOracle,
      proposer: roles.proposer,
      l1ChainId: chain.l1ChainId,
      // L1 and the node are asked twice an L1 block.
      pollMs: Math.min(1000, chain.l1BlockTime * 500),
    },
  )
}
