import type { Hex } from '../../lib/hex.ts'
import { channelTimeout } from '../protocol/index.ts'
import type { L1BlockInfo, L1BlockRef, L2BlockRef, RollupConfig, SystemConfig } from '../protocol/types.ts'
import { DerivationError } from './errors.ts'
import { toL1Ref } from './l1Traversal.ts'
import type { L1Source, L2Source } from './types.ts'

export interface ResetPoint {
  origin: L1BlockRef
  /** The config at `origin`. */
  systemConfig: SystemConfig
}

/**
 * The L1 block at which derivation must start to read every channel that may contain the batch after `safeHead`. It is
 * the L1 origin of an ancestor, at least a channel timeout back, or genesis (specs: derivation, "Resetting the
 * Pipeline").
 */
export async function findResetPoint(
  { l1, l2 }: { l1: Pick<L1Source, 'blockInfoByHash'>; l2: Pick<L2Source, 'blockRefByHash' | 'systemConfigByL2Hash'> },
  { config, safeHead, signal }: { config: RollupConfig; safeHead: L2BlockRef; signal?: AbortSignal | undefined },
): Promise<ResetPoint> {
  const { genesis } = config
  let block = safeHead
  let origin = await originOf(l1, block)
  while (
    block.number > genesis.l2.number &&
    block.l1Origin.number > genesis.l1.number &&
    block.l1Origin.number + channelTimeout(config, origin.timestamp) > safeHead.l1Origin.number
  ) {
    signal?.throwIfAborted()
    const parent = await l2.blockRefByHash(block.parentHash)
    if (parent === undefined) throw missing(block.number - 1, block.parentHash)
    if (parent.l1Origin.hash !== block.l1Origin.hash) origin = await originOf(l1, parent)
    block = parent
  }
  return { origin: toL1Ref(origin), systemConfig: await l2.systemConfigByL2Hash(block.hash) }
}

async function originOf(l1: Pick<L1Source, 'blockInfoByHash'>, block: L2BlockRef): Promise<L1BlockInfo> {
  const { hash, number } = block.l1Origin
  const info = await l1.blockInfoByHash(hash)
  if (info !== undefined) return info
  // The heads must be found again, because this head's L1 origin no longer exists.
  const message = `L1 origin ${number} (${hash}) of L2 block ${block.number} was removed by a reorg`
  throw new DerivationError('l1-reorg', 'reset', message)
}

function missing(number: number, hash: Hex): DerivationError {
  return new DerivationError('l2-block-missing', 'temporary', `L2 block ${number} (${hash}) not found`)
}
