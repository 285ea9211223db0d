import { createRpcClient, type RpcClient } from '../../../jsonRpc/client.ts'
import { redact } from '../../../jsonRpc/credentials.ts'
import { createWebSocketRpcClient } from '../../../jsonRpc/webSocketClient.ts'
import { parseBlock } from '../../../l1/block.ts'
import { L1Error } from '../../../l1/index.ts'
import { DecodeError, describeError } from '../../../lib/errors.ts'
import { quantityToBigInt, quantityToNumber, toQuantity } from '../../../lib/hex.ts'
import { isObject } from '../../../lib/jsonReader.ts'
import type { RollupConfig } from '../../../rollup/protocol/index.ts'
import type { AnnouncedFork, L1Facts } from './facts.ts'
import { orUndefined } from './orUndefined.ts'

/** Time limit of all queries of one endpoint. */
const L1_TIMEOUT_MS = 10_000

export async function gatherL1(address: string, config: RollupConfig): Promise<L1Facts> {
  const url = redact(address)
  const options = { url: address, timeoutMs: L1_TIMEOUT_MS }
  const rpc: RpcClient = /^wss?:/.test(address) ? createWebSocketRpcClient(options) : createRpcClient(options)
  const signal = AbortSignal.timeout(L1_TIMEOUT_MS)
  const request = (method: string, params: readonly unknown[]) => rpc.request(method, params, { signal })
  try {
    const [chainId, genesis, head, announced] = await Promise.all([
      request('eth_chainId', []),
      request('eth_getBlockByNumber', [toQuantity(config.genesis.l1.number), false]),
      request('eth_getBlockByNumber', ['latest', false]),
      orUndefined(request('eth_config', [])),
    ])
    return {
      url,
      chainId: quantityToBigInt(chainId, 'chain id'),
      genesisHash: hashOf(genesis),
      ...headOf(head),
      ...announcedForks(announced),
    }
  } catch (error) {
    const text = signal.aborted ? `${url} did not answer within ${L1_TIMEOUT_MS / 1000} s` : describeError(error)
    return { url, problem: { code: 'down', text } }
  } finally {
    await rpc.close()
  }
}

function hashOf(block: unknown): string | null {
  return isObject(block) && 'hash' in block ? String(block.hash).toLowerCase() : null
}

/** The head, whose hash is verified as in the node. */
function headOf(json: unknown): Pick<L1Facts, 'head' | 'headProblem'> {
  try {
    const { info } = parseBlock(json, false)
    const isGlamsterdam = isObject(json) && 'blockAccessListHash' in json
    return { head: { number: info.number, time: info.timestamp, isGlamsterdam } }
  } catch (error) {
    if (!(error instanceof L1Error || error instanceof DecodeError)) throw error
    const code = error.code === 'l1-unknown-fork' ? 'unknown-fork' : 'bad-answer'
    return { headProblem: { code, text: error.message } }
  }
}

/** EIP-7910. A malformed answer is ignored. */
function announcedForks(json: unknown): Pick<L1Facts, 'current' | 'next'> {
  if (!isObject(json)) return {}
  return { current: announcedFork(json.current), next: announcedFork(json.next) }
}

function announcedFork(json: unknown): AnnouncedFork | undefined {
  const time = isObject(json) ? numberOf(json.activationTime) : undefined
  if (!isObject(json) || time === undefined) return undefined
  const fraction = isObject(json.blobSchedule) ? numberOf(json.blobSchedule.baseFeeUpdateFraction) : undefined
  return { time, updateFraction: fraction === undefined ? undefined : BigInt(fraction) }
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  try {
    return quantityToNumber(value, 'value')
  } catch {
    return undefined
  }
}
