import type { Hex } from '../../lib/hex.ts'
import { type ChainConfig, rulesAt } from '../config/chainConfig.ts'
import type { BlockHeader } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import type { BlockContext } from './message.ts'
import { OpEvm } from './opEvm.ts'
import type { Environment } from './runMessage.ts'

/** Reads headers of ancestors for BLOCKHASH. */
export interface Ancestry {
  header(hash: Hex): BlockHeader | undefined
  canonicalHeader(number: number): BlockHeader | undefined
  isCanonical(header: Pick<BlockHeader, 'hash' | 'number'>): boolean
}

export interface EvmModules {
  config: ChainConfig
  ancestry: Ancestry
  /** Aborts all executions. */
  limit?: AbortSignal | undefined
}

/**
 * An EVM for one block. An EVM runs one message at a time, while a block under construction, an import and calls run
 * concurrently.
 *
 * @param parentHash the block from which BLOCKHASH looks back
 * @param client set for calls: aborts when the client disconnects
 */
export function createEnvironment(
  { config, ancestry, limit }: EvmModules,
  world: WorldState,
  block: Omit<BlockContext, 'chainId' | 'rules'>,
  parentHash: Hex,
  client?: AbortSignal,
): Environment {
  const rules = rulesAt(config, block.timestamp)
  const evm = new OpEvm({ world, ancestorHash: (wanted) => findAncestor(ancestry, parentHash, wanted) }, rules)
  evm.client = client
  evm.limit = limit
  return { world, evm, block: { ...block, chainId: config.chainId, rules } }
}

/** The hash of the ancestor with this number. */
function findAncestor(ancestry: Ancestry, parentHash: Hex, wanted: number): Hex | undefined {
  let header = ancestry.header(parentHash)
  while (header !== undefined && header.number > wanted) {
    if (ancestry.isCanonical(header)) return ancestry.canonicalHeader(wanted)?.hash
    header = ancestry.header(header.parentHash)
  }
  return header?.hash
}

export function contextOf(header: BlockHeader): Omit<BlockContext, 'chainId' | 'rules'> {
  return {
    number: header.number,
    timestamp: header.timestamp,
    coinbase: header.coinbase,
    prevRandao: header.mixHash,
    gasLimit: header.gasLimit,
    baseFee: header.baseFeePerGas,
  }
}
