import { existsSync } from 'node:fs'
import { createRpcClient, type RpcClient, RpcTransportError } from '../../../jsonRpc/client.ts'
import { redact } from '../../../jsonRpc/credentials.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../../jsonRpc/types.ts'
import { describeError } from '../../../lib/errors.ts'
import { quantityToBigInt, quantityToNumber, toQuantity } from '../../../lib/hex.ts'
import { isObject } from '../../../lib/jsonReader.ts'
import { loadJwtSecret } from '../../../lib/jwt.ts'
import type { RollupConfig } from '../../../rollup/protocol/index.ts'
import type { BlockMoment, EngineFacts } from './facts.ts'
import { probeFork } from './forkProbes.ts'
import { orUndefined } from './orUndefined.ts'
import { forksToCheck } from './schedule.ts'

export interface EngineFlags {
  l2: string
  jwtPath: string
  timeoutMs: number
}

type QueriedEngine = Pick<RpcClient, 'url' | 'request'>

/** Far above the number of methods of any client. */
const MAX_METHODS = 500
const MAX_NAME_LENGTH = 100

/** Queries the engine without changing it. Throws UsageError for an invalid secret. */
export async function gatherEngine(
  { l2, jwtPath, timeoutMs }: EngineFlags,
  config: RollupConfig,
  nowS: number,
): Promise<EngineFacts> {
  const url = redact(l2)
  if (!existsSync(jwtPath)) {
    const text = `The JWT secret file ${jwtPath} does not exist. The node would create a new secret, which the engine refuses`
    return { url, runs: {}, problem: { code: 'no-secret', text } }
  }
  const rpc = createRpcClient({ url: l2, jwtSecret: loadJwtSecret(jwtPath, { create: false }), timeoutMs })
  try {
    return await queryEngine(rpc, config, nowS)
  } catch (error) {
    const status = error instanceof RpcTransportError ? error.details.status : undefined
    const code = status === 401 || status === 403 ? 'unauthorized' : status === undefined ? 'down' : 'wrong-kind'
    return { url, runs: {}, problem: { code, text: describeError(error) } }
  } finally {
    await rpc.close()
  }
}

/** Queries an engine through an authenticated client. Rejects when the engine does not answer. */
export async function queryEngine(rpc: QueriedEngine, config: RollupConfig, nowS: number): Promise<EngineFacts> {
  const chainId = await orUndefined(
    rpc.request('eth_chainId', []).then((answer) => quantityToBigInt(answer, 'chain id')),
  )
  const { methods, problem } = await readMethods(rpc)
  if (problem !== undefined) return { url: rpc.url, runs: {}, problem: { code: 'wrong-kind', text: problem } }
  const [client, genesis, head, safe, finalized, isSyncing] = await Promise.all([
    readClient(rpc),
    readBlock(rpc, toQuantity(config.genesis.l2.number)),
    readBlock(rpc, 'latest'),
    readBlock(rpc, 'safe'),
    readBlock(rpc, 'finalized'),
    orUndefined(rpc.request('eth_syncing', []).then((answer) => answer !== false)),
  ])
  const runs: EngineFacts['runs'] = {}
  for (const { fork, time } of forksToCheck(config.forks, nowS)) {
    const isRun = await orUndefined(probeFork(rpc, fork, Math.max(time, config.genesis.l2Time)))
    if (isRun !== undefined) runs[fork] = isRun
  }
  const genesisHash = genesis === undefined ? undefined : (genesis?.hash ?? null)
  const heads = { head: momentOf(head), safe: momentOf(safe), finalized: momentOf(finalized) }
  return { url: rpc.url, chainId, methods, client, genesisHash, ...heads, isSyncing, runs }
}

async function readMethods(rpc: QueriedEngine): Promise<{ methods?: string[]; problem?: string }> {
  try {
    const answer = await rpc.request('engine_exchangeCapabilities', [[]])
    if (!Array.isArray(answer)) return {}
    return { methods: answer.slice(0, MAX_METHODS).filter((name): name is string => typeof name === 'string') }
  } catch (error) {
    if (!(error instanceof JsonRpcError)) throw error
    if (error.rpcCode !== RPC_METHOD_NOT_FOUND) return {}
    return { problem: 'it does not have engine_exchangeCapabilities' }
  }
}

/** Tries the Engine API's own method first: geth's authenticated port has no web3_clientVersion. */
async function readClient(rpc: QueriedEngine): Promise<string | undefined> {
  const self = { code: 'DV', name: 'devium', version: '0', commit: '0x00000000' }
  const [plain, versions] = await Promise.all([
    orUndefined(rpc.request('web3_clientVersion', [])),
    orUndefined(rpc.request('engine_getClientVersionV1', [self])),
  ])
  if (typeof plain === 'string') return plain.slice(0, MAX_NAME_LENGTH)
  const first: unknown = Array.isArray(versions) ? versions[0] : undefined
  if (!isObject(first) || !('name' in first && 'version' in first)) return undefined
  return `${first.name}/${first.version}`.slice(0, MAX_NAME_LENGTH)
}

interface ReadBlock {
  hash: string
  number: number
  timestamp: number
}

/** Null: the engine has no such block. Undefined: it does not answer. */
async function readBlock(rpc: QueriedEngine, tag: string): Promise<ReadBlock | null | undefined> {
  const block = await orUndefined(rpc.request('eth_getBlockByNumber', [tag, false]))
  if (block === null) return null
  if (!isObject(block) || !('hash' in block && 'number' in block && 'timestamp' in block)) return undefined
  return {
    hash: String(block.hash).toLowerCase(),
    number: quantityToNumber(block.number, 'block number'),
    timestamp: quantityToNumber(block.timestamp, 'timestamp'),
  }
}

const momentOf = (block: ReadBlock | null | undefined): BlockMoment | undefined =>
  block ? { number: block.number, time: block.timestamp } : undefined
