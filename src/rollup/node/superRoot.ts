import { concatBytes, viewOf } from '../../lib/bytes.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { l2BlockNumberAt } from '../protocol/index.ts'
import { type BlockId, type RollupConfig, type SyncStatus, ZERO_HASH } from '../protocol/types.ts'
import type { OutputAtBlock, SuperRootAtTimestamp } from './api.ts'

export interface SuperRootModules {
  syncStatus(): SyncStatus
  outputAtBlock(number: number): Promise<Omit<OutputAtBlock, 'syncStatus'>>
  /** The L1 block whose data made the L2 block safe. */
  madeSafeBy(l2Number: number): Promise<BlockId>
}

/** Version of the encoding below. */
const SUPER_ROOT_VERSION = 1

/**
 * op-node's `superroot_atTimestamp` for a chain outside interop: the output of its block at a timestamp, as the super
 * root of one chain, with the required L1 block. Above the local safe head the chain is omitted. Rejects with code
 * `before-genesis` for an earlier timestamp.
 */
export async function readSuperRoot(
  modules: SuperRootModules,
  config: RollupConfig,
  timestamp: number,
): Promise<SuperRootAtTimestamp> {
  const status = modules.syncStatus()
  const answer: SuperRootAtTimestamp = {
    currentL1: { hash: status.currentL1.hash, number: status.currentL1.number },
    safeTimestamp: status.safeL2.timestamp,
    localSafeTimestamp: status.localSafeL2.timestamp,
    finalizedTimestamp: status.finalizedL2.timestamp,
    chainId: config.l2ChainId,
  }
  if (timestamp < config.genesis.l2Time) return answer
  const number = l2BlockNumberAt(config, timestamp)
  if (number > status.localSafeL2.number) return answer
  const output = await modules.outputAtBlock(number)
  const { l2 } = config.genesis
  // Genesis is safe by definition, from L1's first block on.
  const isGenesis = output.blockRef.hash === l2.hash
  const requiredL1 = isGenesis ? { hash: ZERO_HASH, number: 0 } : await modules.madeSafeBy(number)
  const superRoot = superRootOf(timestamp, config.l2ChainId, output.outputRoot)
  return { ...answer, chain: { timestamp, output, requiredL1, superRoot } }
}

/** keccak256(version ‖ timestamp u64 ‖ chain id ‖ output root) (specs: interop, "Super Root"). */
function superRootOf(timestamp: number, chainId: bigint, outputRoot: Hex): Hex {
  const head = new Uint8Array(9)
  head[0] = SUPER_ROOT_VERSION
  viewOf(head).setBigUint64(1, BigInt(timestamp))
  return keccak256Hex(
    concatBytes(head, fromHex(`0x${chainId.toString(16).padStart(64, '0')}`), fromHex(outputRoot, 32)),
  )
}
