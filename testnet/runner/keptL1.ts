import { UsageError } from '../../src/lib/errors.ts'
import type { ChainParameters, L1Parameters } from '../chainParameters.ts'
import { type L1Client, type L1ForkActivation, l1Parameters } from '../l1/l1Client.ts'

const OTHER_CHAIN = 'use another --dir, or --reset to begin anew'

/**
 * The L1 of a kept chain, with a fork that this start adds. Throws UsageError if the options request another L1, or a fork that
 * can no longer be added.
 */
export function keptL1(
  { l1, l1BlockTime: kept }: Pick<ChainParameters, 'l1' | 'l1BlockTime'>,
  options: { l1Client: L1Client; l1ForkAt: readonly L1ForkActivation[]; l1BlockTime: number },
  { given, now }: { given: ReadonlySet<string>; now: number },
): L1Parameters | undefined {
  const { l1Client, l1ForkAt, l1BlockTime } = options
  if (l1 === undefined) {
    if (l1Client === 'anvil') return undefined
    throw new UsageError(
      `--l1-client geth=${l1Client.geth}: the L1 of the chain kept in this directory is Anvil; ${OTHER_CHAIN}`,
    )
  }
  if (l1Client === 'anvil') {
    throw new UsageError(
      `the L1 of the chain kept in this directory is go-ethereum: add --l1-client geth=<path>, or ${OTHER_CHAIN}`,
    )
  }
  if (given.has('l1-block-time') && l1BlockTime !== kept) {
    throw new UsageError(
      `--l1-block-time ${l1BlockTime}: the slots of the L1 kept in this directory take ${kept} s; ${OTHER_CHAIN}`,
    )
  }
  // The same command line may run again: its fork is already set.
  return l1.amsterdamTime === undefined ? l1Parameters(l1Client, l1ForkAt, now) : l1
}
