import { toQuantity } from '../lib/hex.ts'
import type { BlockTimes, SuperRootAtTimestamp } from '../rollup/node/api.ts'
import type { L1BlockRef, L2BlockRef, RollupConfig, SyncStatus } from '../rollup/protocol/types.ts'

/** L1 references keep their member names. Numbers are JSON integers. */
export function l1RefToJson(ref: L1BlockRef) {
  return { hash: ref.hash, number: ref.number, parentHash: ref.parentHash, timestamp: ref.timestamp }
}

export function l2RefToJson(ref: L2BlockRef) {
  return {
    ...l1RefToJson(ref),
    l1origin: { hash: ref.l1Origin.hash, number: ref.l1Origin.number },
    sequenceNumber: ref.sequenceNumber,
  }
}

function commonStatus(status: SyncStatus) {
  return {
    current_l1: l1RefToJson(status.currentL1),
    // A legacy alias in op-node, a member of its own in our document. Both name the same block.
    current_l1_finalized: l1RefToJson(status.finalizedL1),
    head_l1: l1RefToJson(status.headL1),
    safe_l1: l1RefToJson(status.safeL1),
    finalized_l1: l1RefToJson(status.finalizedL1),
    unsafe_l2: l2RefToJson(status.unsafeL2),
    safe_l2: l2RefToJson(status.safeL2),
    finalized_l2: l2RefToJson(status.finalizedL2),
    pending_safe_l2: l2RefToJson(status.pendingSafeL2),
  }
}

/** An entry of devium_recentBlocks. An event that has not happened is null. */
export function blockTimesToJson({ signedAtMs, came, executedAtMs, executedBy, ...block }: BlockTimes) {
  return {
    ...{ number: block.number, hash: block.hash, timestamp: block.timestamp },
    gasUsed: block.gasUsed ?? null,
    transactions: block.transactions ?? null,
    signedAtMs: signedAtMs ?? null,
    came: came ?? null,
    executedAtMs: executedAtMs ?? null,
    executedBy: executedBy ?? null,
    safeAtMs: block.safeAtMs ?? null,
    finalizedAtMs: block.finalizedAtMs ?? null,
  }
}

/** The result of devium_syncStatus. */
export function deviumSyncStatus(status: SyncStatus) {
  return {
    ...commonStatus(status),
    queued_unsafe_l2: l2RefToJson(status.queuedUnsafeL2),
    engine_sync_target: l2RefToJson(status.engineSyncTarget),
  }
}

/** The result of optimism_syncStatus. */
export function optimismSyncStatus(status: SyncStatus) {
  return { ...commonStatus(status), local_safe_l2: l2RefToJson(status.localSafeL2) }
}

/** The result of optimism_dependencySet; undefined if the chain has none. */
export function dependencySetToJson({ dependencySet, messageExpiryWindowS }: RollupConfig) {
  if (dependencySet === undefined) return undefined
  const dependencies = Object.fromEntries(dependencySet.map((id) => [id.toString(), {}]))
  return {
    dependencies,
    ...(messageExpiryWindowS === undefined ? {} : { overrideMessageExpiryWindow: messageExpiryWindowS }),
  }
}

/** The result of superroot_atTimestamp. Chain ids are decimal text, as op-node writes them. */
export function superRootToJson({ chain, ...root }: SuperRootAtTimestamp) {
  const chainId = root.chainId.toString()
  const skeleton = {
    current_l1: root.currentL1,
    safe_timestamp: root.safeTimestamp,
    local_safe_timestamp: root.localSafeTimestamp,
    finalized_timestamp: root.finalizedTimestamp,
    optimistic_at_timestamp: {},
    chain_ids: [chainId],
  }
  if (chain === undefined) return skeleton
  const { output, requiredL1 } = chain
  return {
    ...skeleton,
    optimistic_at_timestamp: {
      [chainId]: {
        output: {
          stateRoot: output.stateRoot,
          messagePasserStorageRoot: output.withdrawalStorageRoot,
          blockHash: output.blockRef.hash,
        },
        output_root: output.outputRoot,
        required_l1: requiredL1,
      },
    },
    data: {
      verified_required_l1: requiredL1,
      super: {
        timestamp: toQuantity(chain.timestamp),
        chains: [{ ChainID: chainId, Output: output.outputRoot }],
      },
      super_root: chain.superRoot,
    },
  }
}
