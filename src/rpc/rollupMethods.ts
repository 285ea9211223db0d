import { z } from 'zod'
import type { WrittenJson } from '../jsonRpc/bodyChunks.ts'
import { JsonRpcError, RPC_SERVER_ERROR } from '../jsonRpc/types.ts'
import type { OutputAtBlock, RollupNodeApi } from '../rollup/node/api.ts'
import { rollupConfigToJson } from '../rollup/protocol/index.ts'
import { type RollupConfig, ZERO_ADDRESS } from '../rollup/protocol/types.ts'
import { blockDetailsToJson } from './blockDetailsJson.ts'
import { derivationStatusToJson } from './derivationJson.ts'
import type { NodeHistory } from './history/nodeHistory.ts'
import {
  blockTimesToJson,
  dependencySetToJson,
  deviumSyncStatus,
  l2RefToJson,
  optimismSyncStatus,
  superRootToJson,
} from './json.ts'
import { defineMethod } from './method.ts'
import { healthToJson } from './nodeHealth.ts'
import { blockNumberParam, hashParam, jsonParam, momentParam, optionalParam, textParam, wrongType } from './params.ts'
import { jsonSchemaOf, NOTHING, result, textResult } from './results.ts'
import { blockDetails } from './schemas/blockDetails.ts'
import { hash } from './schemas/blocks.ts'
import { derivationStatus } from './schemas/derivation.ts'
import { nodeHealth } from './schemas/health.ts'
import { history } from './schemas/history.ts'
import * as schemas from './schemas/rollup.ts'
import { writeOnce } from './writeOnce.ts'

const words = z.array(z.string().max(200)).min(1).max(200)
const WORDS = jsonParam<string[]>(
  'words',
  'the words of a command, each a string',
  jsonSchemaOf({ schema: words }),
  (value) => words.safeParse(value).data ?? wrongType(),
)

export type ReadBatcher = () => Promise<z.infer<typeof schemas.batcherStatus>>

/** Commands of the testnet that this node belongs to. */
export interface TestnetControl {
  commands: readonly z.infer<typeof schemas.testnetCommand>[]
  /** Throws UsageError if the testnet refuses the command, or if none runs. */
  run(words: readonly string[]): Promise<z.infer<typeof schemas.testnetResult>>
}

export interface DeviumModules {
  node: RollupNodeApi
  /** Undefined with `--p2p.disable`. */
  peerId?: (() => Promise<string>) | undefined
  batcherStatus?: ReadBatcher | undefined
  testnet?: TestnetControl | undefined
  history: Pick<NodeHistory, 'since' | 'noteAction'>
}

/** `devium_*`: the product's own shapes. */
export function deviumMethods(
  { node, peerId, batcherStatus, testnet, ...modules }: DeviumModules,
  { version, network }: { version: string; network?: string | undefined },
) {
  const syncStatus = writeOnce(deviumSyncStatus)
  const rollupConfig = writeOnce(deviumRollupConfig)
  return [
    defineMethod({
      name: 'devium_outputAtBlock',
      params: [blockNumberParam('block number')],
      result: result('array of two 32-byte hex strings: output version, output root', z.tuple([hash, hash])),
      description: 'Output root of an L2 block',
      handle: async ([number]) => {
        const output = await node.outputAtBlock(number)
        return [output.version, output.outputRoot] as const
      },
    }),
    safeHeadMethod('devium_safeHeadAtL1Block', node),
    defineMethod({
      name: 'devium_syncStatus',
      params: [],
      result: result('object: L1 and L2 block references', schemas.syncStatus),
      description: 'Heads of both layers, and the progress of derivation',
      handle: () => syncStatus(node.syncStatus()),
    }),
    defineMethod({
      name: 'devium_health',
      params: [],
      result: result(
        'object: state (healthy, degraded, stopped), text, causes (code, text, command), and facts about the node',
        nodeHealth,
      ),
      description: 'Whether the node is healthy; if not, the causes and the commands that end them',
      handle: async () => {
        const health = await node.health()
        return {
          ...healthToJson(health),
          node: {
            name: health.name ?? null,
            role: health.role,
            version,
            chainId: node.rollupConfig.l2ChainId.toString(),
            network: network ?? null,
            peerID: (await peerId?.()) ?? null,
          },
          sequencer:
            health.role === 'verifier' ? null : { active: node.sequencerActive(), conductor: node.conductorEnabled() },
        }
      },
    }),
    defineMethod({
      name: 'devium_derivationStatus',
      params: [],
      result: result('object: state, ok, text (one sentence), and the facts behind them', derivationStatus),
      description: 'Why the safe head is at its block',
      handle: () => derivationStatusToJson(node.derivationStatus()),
    }),
    defineMethod({
      name: 'devium_recentBlocks',
      params: [],
      result: result(
        'array of objects, the highest block first: number, hash, timestamp, gasUsed, transactions, signedAtMs, came (atMs, from, way), executedAtMs, executedBy, safeAtMs, finalizedAtMs',
        z.array(schemas.blockTimes),
      ),
      description: 'Times at which the last blocks were signed, received, executed, safe and finalized at this node',
      handle: () => node.recentBlocks().map(blockTimesToJson),
    }),
    defineMethod({
      name: 'devium_describeBlock',
      params: [hashParam('block hash')],
      result: result(
        'object: the header, transactions, safeBy (L1 block), batchTransactions; null if the engine does not have the block',
        blockDetails.nullable(),
      ),
      description: 'A block with its transactions, and the L1 transactions that made it safe',
      handle: async ([blockHash]) => {
        const details = await node.block(blockHash)
        return details === undefined ? null : blockDetailsToJson(details)
      },
    }),
    defineMethod({
      name: 'devium_history',
      params: [optionalParam(momentParam('since'))],
      result: result('object: sampleMs, samples, scores, events', history),
      description: 'Heads, peers, gas, scores and events of the last hour, or those since a time',
      handle: ([since = 0]) => modules.history.since(since),
    }),
    defineMethod({
      name: 'devium_note',
      params: [textParam('text', 'a sentence')],
      result: NOTHING,
      description: 'Add an event to the history, such as an action of the operator. Charts mark it',
      admin: true,
      handle: async ([text]) => modules.history.noteAction(text),
    }),
    defineMethod({
      name: 'devium_batcherStatus',
      params: [],
      result: result(
        'object: why (one sentence), ok, and the state of the batch submitter; null if none is configured',
        schemas.batcherStatus.nullable(),
      ),
      description: 'Result of admin_batcherStatus of the batch submitter. Needs --dashboard.batcher',
      handle: async () => (await batcherStatus?.()) ?? null,
    }),
    defineMethod({
      name: 'devium_testnetCommands',
      params: [],
      result: result(
        'array of objects: name, words, description; null if no testnet is configured',
        z.array(schemas.testnetCommand).nullable(),
      ),
      description: 'Commands of the testnet that this node belongs to. Needs --dashboard.testnet',
      handle: () => testnet?.commands.map(({ name, words, description }) => ({ name, words, description })) ?? null,
    }),
    defineMethod({
      name: 'devium_testnetCommand',
      params: [WORDS],
      result: result('object: command, did, lookAt', schemas.testnetResult),
      description: 'Run a command of the testnet, as `devium testnet` does. Needs --dashboard.testnet',
      changes: true,
      async handle([words]) {
        if (testnet !== undefined) return await testnet.run(words)
        throw new JsonRpcError(RPC_SERVER_ERROR, 'no testnet is configured: start the node with --dashboard.testnet')
      },
    }),
    defineMethod({
      name: 'devium_rollupConfig',
      params: [],
      result: result('object: the rollup parameters up to Canyon', schemas.rollupConfig),
      description: 'Rollup configuration. Later forks are in optimism_rollupConfig',
      handle: () => rollupConfig(node.rollupConfig),
    }),
    versionMethod('devium_version', version),
  ]
}

/** `optimism_*`: op-node's shapes, for op-node's clients. */
export function optimismMethods(node: RollupNodeApi, version: string) {
  const syncStatus = writeOnce(optimismSyncStatus)
  // The members are known at run time only. A test validates them with the schema.
  const rollupConfig: (config: RollupConfig) => WrittenJson = writeOnce(rollupConfigToJson)
  return [
    defineMethod({
      name: 'optimism_outputAtBlock',
      params: [blockNumberParam('block number')],
      result: result(
        'object: version, outputRoot, blockRef, withdrawalStorageRoot, stateRoot, syncStatus',
        schemas.optimismOutput,
      ),
      description: 'Output root of an L2 block with all values that it commits to',
      handle: async ([number]) => optimismOutput(await node.outputAtBlock(number)),
    }),
    safeHeadMethod('optimism_safeHeadAtL1Block', node),
    defineMethod({
      name: 'optimism_syncStatus',
      params: [],
      result: result('object: L1 and L2 block references', schemas.optimismSyncStatus),
      description: 'Heads of both layers, and the progress of derivation',
      handle: () => syncStatus(node.syncStatus()),
    }),
    defineMethod({
      name: 'optimism_rollupConfig',
      params: [],
      result: result('object: the rollup configuration with all forks', schemas.optimismRollupConfig),
      description: 'Rollup configuration as in rollup.json',
      handle: () => rollupConfig(node.rollupConfig),
    }),
    defineMethod({
      name: 'optimism_dependencySet',
      params: [],
      result: result('object: dependencies, overrideMessageExpiryWindow', schemas.dependencySet),
      description: 'Chains whose messages this chain accepts. An error if the chain has no dependency set',
      handle() {
        const set = dependencySetToJson(node.rollupConfig)
        if (set !== undefined) return set
        throw new JsonRpcError(RPC_SERVER_ERROR, 'not found')
      },
    }),
    versionMethod('optimism_version', version),
    defineMethod({
      name: 'superroot_atTimestamp',
      params: [blockNumberParam('timestamp', 'Unix seconds')],
      result: result('object: current_l1, timestamps, optimistic_at_timestamp, chain_ids, data', schemas.superRoot),
      description: 'Output of the block at a timestamp, and the L1 block that made it safe. Needs --safedb.path',
      handle: async ([timestamp]) => superRootToJson(await node.superRootAtTimestamp(timestamp)),
    }),
    versionMethod('health_status', version, 'Version of this program. Any answer means that the program runs'),
  ]
}

function versionMethod<const Name extends string>(
  name: Name,
  version: string,
  description = 'Version of this program',
) {
  return defineMethod({ name, params: [], result: textResult(), description, handle: () => version })
}

function safeHeadMethod<const Name extends string>(name: Name, node: Pick<RollupNodeApi, 'safeHeadAtL1Block'>) {
  return defineMethod({
    name,
    params: [blockNumberParam('L1 block number')],
    result: result('object: l1Block, safeHead', schemas.safeHeadAtL1Block),
    description: 'Safe head after derivation of the L1 block. Needs --safedb.path',
    handle: ([number]) => node.safeHeadAtL1Block(number),
  })
}

function optimismOutput(output: OutputAtBlock) {
  return {
    version: output.version,
    outputRoot: output.outputRoot,
    blockRef: l2RefToJson(output.blockRef),
    withdrawalStorageRoot: output.withdrawalStorageRoot,
    stateRoot: output.stateRoot,
    syncStatus: optimismSyncStatus(output.syncStatus),
  }
}

function deviumRollupConfig(config: RollupConfig) {
  const { l1, l2, l2Time, systemConfig } = config.genesis
  return {
    genesis: {
      l1,
      l2,
      l2_time: l2Time,
      system_config: {
        batcherAddr: systemConfig.batcherAddress,
        overhead: systemConfig.overhead,
        scalar: systemConfig.scalar,
        gasLimit: systemConfig.gasLimit,
      },
    },
    block_time: config.blockTime,
    max_sequencer_drift: config.maxSequencerDrift,
    seq_window_size: config.seqWindowSize,
    channel_timeout: config.channelTimeout,
    l1_chain_id: config.l1ChainId,
    l2_chain_id: config.l2ChainId,
    regolith_time: config.forks.regolith,
    canyon_time: config.forks.canyon,
    batch_inbox_address: config.batchInboxAddress,
    deposit_contract_address: config.depositContractAddress,
    l1_system_config_address: config.l1SystemConfigAddress,
    protocol_versions_address: config.protocolVersionsAddress ?? ZERO_ADDRESS,
  }
}
