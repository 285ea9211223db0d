import { z } from 'zod'
import { FORKS, type Fork } from '../../rollup/protocol/types.ts'
import { address, blockId, hash, hexOf, l1Ref, l2Ref } from './blocks.ts'

const heads = {
  current_l1: l1Ref,
  current_l1_finalized: l1Ref,
  head_l1: l1Ref,
  safe_l1: l1Ref,
  finalized_l1: l1Ref,
  unsafe_l2: l2Ref,
  safe_l2: l2Ref,
  finalized_l2: l2Ref,
  pending_safe_l2: l2Ref,
}
/** The result of devium_syncStatus. */
export const syncStatus = z.object({ ...heads, queued_unsafe_l2: l2Ref, engine_sync_target: l2Ref })
/** The result of optimism_syncStatus. */
export const optimismSyncStatus = z.object({ ...heads, local_safe_l2: l2Ref })

export const optimismOutput = z.object({
  version: hash,
  outputRoot: hash,
  blockRef: l2Ref,
  withdrawalStorageRoot: hash,
  stateRoot: hash,
  syncStatus: optimismSyncStatus,
})

export const safeHeadAtL1Block = z.object({ l1Block: blockId, safeHead: blockId })

const systemConfig = { batcherAddr: address, overhead: hash, scalar: hash }
const parameters = {
  block_time: z.number(),
  max_sequencer_drift: z.number(),
  seq_window_size: z.number(),
  channel_timeout: z.number(),
  batch_inbox_address: address,
  deposit_contract_address: address,
  l1_system_config_address: address,
}
const genesis = { l1: blockId, l2: blockId, l2_time: z.number() }

/** The result of devium_rollupConfig, with forks up to Canyon. */
export const rollupConfig = z.object({
  genesis: z.object({ ...genesis, system_config: z.object({ ...systemConfig, gasLimit: z.number() }) }),
  ...parameters,
  l1_chain_id: z.number(),
  l2_chain_id: z.number(),
  regolith_time: z.number().optional(),
  canyon_time: z.number().optional(),
  protocol_versions_address: address,
})

export const dependencySet = z.object({
  dependencies: z.record(z.string(), z.object({})).describe('by chain id'),
  overrideMessageExpiryWindow: z.number().describe('seconds').optional(),
})

const optionalTime = z.number().optional()
const forkTimes = Object.fromEntries(FORKS.map((fork) => [`${fork}_time`, optionalTime])) as Record<
  `${Fork}_time`,
  typeof optionalTime
>
/** Text if the value exceeds JavaScript's numbers. */
const integer = z.union([z.number(), z.string()])
/** The result of optimism_rollupConfig. Unscheduled forks are omitted. */
export const optimismRollupConfig = z.object({
  genesis: z.object({
    ...genesis,
    system_config: z.object({
      ...systemConfig,
      gasLimit: integer,
      eip1559Params: hexOf(8).optional(),
      operatorFeeParams: hash.optional(),
      minBaseFee: integer.optional(),
      daFootprintGasScalar: z.number().optional(),
    }),
  }),
  ...parameters,
  l1_chain_id: integer,
  l2_chain_id: integer,
  ...forkTimes,
  pectra_blob_schedule_time: z.number().optional(),
  keep_karst_upgrade_gas: z.literal(true).optional(),
  protocol_versions_address: address,
  alt_da: z
    .object({
      da_challenge_contract_address: address,
      da_commitment_type: z.enum(['KeccakCommitment', 'GenericCommitment']),
      da_challenge_window: z.number(),
      da_resolve_window: z.number(),
      da_max_input_size: z.number().optional(),
    })
    .optional(),
  chain_op_config: z
    .object({
      eip1559Elasticity: z.number(),
      eip1559Denominator: z.number(),
      eip1559DenominatorCanyon: z.number(),
    })
    .optional(),
})

/** The result of superroot_atTimestamp. Chain ids are decimal text. `data` is present up to the safe head. */
export const superRoot = z.object({
  current_l1: blockId,
  safe_timestamp: z.number(),
  local_safe_timestamp: z.number(),
  finalized_timestamp: z.number(),
  optimistic_at_timestamp: z.record(
    z.string(),
    z.object({
      output: z.object({ stateRoot: hash, messagePasserStorageRoot: hash, blockHash: hash }),
      output_root: hash,
      required_l1: blockId,
    }),
  ),
  chain_ids: z.array(z.string()),
  data: z
    .object({
      verified_required_l1: blockId,
      super: z.object({ timestamp: z.string(), chains: z.array(z.object({ ChainID: z.string(), Output: hash })) }),
      super_root: hash,
    })
    .optional(),
})

const moment = z.number().nullable().describe('Unix milliseconds; null: it has not happened, or is not known')
/** One block in the result of devium_recentBlocks. */
export const blockTimes = z.object({
  number: z.number(),
  hash,
  timestamp: z.number(),
  gasUsed: z.number().nullable(),
  transactions: z.number().nullable().describe('number of transactions'),
  signedAtMs: moment,
  came: z.object({ atMs: z.number(), from: z.string(), way: z.enum(['gossip', 'request']) }).nullable(),
  executedAtMs: moment,
  executedBy: z.string().nullable(),
  safeAtMs: moment,
  finalizedAtMs: moment,
})

/** The result of admin_sdmStatus. */
export const sdmStatus = z.object({
  postExecOptIn: z.boolean(),
  protocolActive: z.boolean(),
  effective: z.boolean(),
  activationTime: z.number().optional(),
})

/** The result of admin_batcherStatus. Only these members are required. */
export const batcherStatus = z.looseObject({ why: z.string(), ok: z.boolean(), running: z.boolean().optional() })

/** One command in the result of devium_testnetCommands. */
export const testnetCommand = z.object({ name: z.string(), words: z.string(), description: z.string() })

/** The result of devium_testnetCommand. */
export const testnetResult = z.object({ command: z.string(), did: z.string(), lookAt: z.string() })
