import type { RpcContext } from '../../jsonRpc/callContext.ts'
import type { RpcHandler } from '../../jsonRpc/server.ts'
import { invalidParams, JsonRpcError, type JsonValue, RPC_INVALID_PARAMS } from '../../jsonRpc/types.ts'
import { describeError } from '../../lib/errors.ts'
import { type Hex, isHex, normalizeHex, quantityToBigInt, quantityToNumber } from '../../lib/hex.ts'
import { asArray, asObject, type JsonObject, jsonBytes } from '../../lib/jsonReader.ts'
import { hasCode } from '../errors.ts'
import { prunedHistory } from './errors.ts'

/** Reads one positional parameter. Its errors become `-32602` with the argument's index. */
export interface Param<T> {
  parse: (value: JsonValue) => T
  /** Value if the parameter is missing or null. Without it the parameter is required. */
  fallback?: () => T
}

type Parsed<P extends readonly Param<unknown>[]> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never }

/** A method with checked parameters. The messages are geth's (`rpc/json.go`). */
export function method<const P extends readonly Param<unknown>[]>(
  params: P,
  run: (args: Parsed<P>, context: RpcContext) => unknown,
): RpcHandler {
  return (given, context) => {
    const answer = run(readParams(params, given), context)
    return answer instanceof Promise ? answer.catch(rethrowAsRpcError) : answer
  }
}

/** A pruned state has its own error code. */
function rethrowAsRpcError(error: unknown): never {
  throw hasCode(error, 'state-gone') ? prunedHistory(error.message) : error
}

export function readParams<const P extends readonly Param<unknown>[]>(
  params: P,
  given: readonly JsonValue[],
): Parsed<P> {
  if (given.length > params.length) throw invalidParams(`too many arguments, want at most ${params.length}`)
  return params.map((param, index) => {
    const value = given[index]
    if (value === undefined || value === null) {
      if (param.fallback === undefined) throw invalidParams(`missing value for required argument ${index}`)
      return param.fallback()
    }
    try {
      return param.parse(value)
    } catch (error) {
      if (error instanceof JsonRpcError && error.rpcCode !== RPC_INVALID_PARAMS) throw error
      throw invalidParams(`invalid argument ${index}: ${describeError(error)}`)
    }
  }) as Parsed<P>
}

export function optional<T, F>(param: Param<T>, fallback: F): Param<T | F> {
  return { parse: param.parse, fallback: () => fallback }
}

export const address: Param<Hex> = { parse: (value) => normalizeHex(value, 20, 'address') }
export const hash: Param<Hex> = { parse: (value) => normalizeHex(value, 32, 'hash') }
export const index: Param<number> = { parse: (value) => quantityToNumber(value, 'index') }
export const quantity: Param<bigint> = { parse: (value) => quantityToBigInt(value) }
export const data: Param<Uint8Array> = { parse: (value) => jsonBytes(value, 'data') }
export const flag: Param<boolean> = {
  parse(value) {
    if (typeof value !== 'boolean') throw new TypeError('expected true or false')
    return value
  },
}
export const anyObject: Param<JsonObject> = { parse: (value) => asObject(value, 'value') }
export const anyValue: Param<JsonValue> = { parse: (value) => value }

export const BLOCK_LABELS = ['latest', 'safe', 'finalized', 'pending', 'earliest'] as const
export type BlockLabel = (typeof BLOCK_LABELS)[number]

export type BlockSelector =
  | { kind: 'label'; label: BlockLabel }
  | { kind: 'number'; number: number }
  | { kind: 'hash'; hash: Hex; requireCanonical: boolean }

const LATEST: BlockSelector = { kind: 'label', label: 'latest' }

/** A block's number or label (geth's rpc.BlockNumber). */
export const blockNumber: Param<BlockSelector> = { parse: readBlockNumber }

/** EIP-1898: number, label, hash, or an object with one of them. Missing means the latest block. */
export const blockSelector: Param<BlockSelector> = {
  parse(value) {
    if (typeof value === 'string' && value.length === 66) {
      return { kind: 'hash', hash: normalizeHex(value, 32, 'block hash'), requireCanonical: false }
    }
    if (typeof value === 'string') return readBlockNumber(value)
    const { blockHash, blockNumber: number, requireCanonical = null } = asObject(value, 'value')
    if (isGiven(number) && isGiven(blockHash)) {
      throw new TypeError('cannot specify both BlockHash and BlockNumber, choose one or the other')
    }
    if (isGiven(number)) return readBlockNumber(number)
    if (requireCanonical !== null && typeof requireCanonical !== 'boolean') {
      throw new TypeError('requireCanonical: expected true or false')
    }
    return {
      kind: 'hash',
      hash: normalizeHex(blockHash, 32, 'blockHash'),
      requireCanonical: requireCanonical === true,
    }
  },
  fallback: () => LATEST,
}

/** Storage slot: hex of at most 32 bytes, with or without leading zeros. Parsed to 32 bytes. */
export const storageSlot: Param<Hex> = { parse: readStorageSlot }

export function readStorageSlot(value: unknown): Hex {
  if (typeof value !== 'string') throw new TypeError('storage key must be a string')
  const digits = value.startsWith('0x') || value.startsWith('0X') ? value.slice(2) : value
  if (digits.length > 64) throw new TypeError('hex string too long, want at most 32 bytes')
  if (!/^[0-9a-fA-F]*$/.test(digits)) throw new TypeError('unable to decode storage key: not a hex string')
  return `0x${digits.toLowerCase().padStart(64, '0')}`
}

export function readArray(value: unknown, what: string, maxLength: number): JsonValue[] {
  const items = asArray(value, what)
  if (items.length > maxLength) throw new TypeError(`${what}: more than ${maxLength} entries`)
  return items
}

/** A quantity or a JSON number. */
export function readInteger(value: JsonValue, what: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : quantityToNumber(value, what)
}

/** Go's HexOrDecimal64: a quantity, a decimal string or a JSON number. */
export function readHexOrDecimal(value: JsonValue, what: string): number {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : readInteger(value, what)
}

/** The id of a filter or subscription. */
export function idOf(what: string): Param<Hex> {
  return {
    parse(value) {
      if (!isHex(value) || value.length > 34) throw new TypeError(`${what} id: expected hex with 0x prefix`)
      return value
    },
  }
}

/** Undefined for missing members and null, like pointers in Go's JSON decoder. */
export function maybe<T>(value: JsonValue | undefined, read: (value: JsonValue) => T): T | undefined {
  return isGiven(value) ? read(value) : undefined
}

function isGiven(value: JsonValue | undefined): value is NonNullable<JsonValue> {
  return value !== undefined && value !== null
}

function readBlockNumber(value: JsonValue): BlockSelector {
  const label = BLOCK_LABELS.find((known) => known === value)
  if (label !== undefined) return { kind: 'label', label }
  return { kind: 'number', number: quantityToNumber(value, 'block number') }
}
