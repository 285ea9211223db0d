import { type Hex, normalizeHex, quantityToBigInt, quantityToNumber } from '../../lib/hex.ts'
import { asObject, type JsonObject, jsonBytes } from '../../lib/jsonReader.ts'
import { createAuthorization } from '../../rollup/protocol/index.ts'
import type { AccountOverride, BlockOverrides, CallRequest, StateOverrides } from '../chain/simulation/types.ts'
import type { AccessListEntry, Authorization } from '../primitives/block.ts'
import { serverError } from './errors.ts'
import { maybe, type Param, readArray, readStorageSlot } from './params.ts'

/** Most entries of an access list, authorization list or override set. */
const MAX_ENTRIES = 10_000

/** geth's TransactionArgs, the parameters of eth_call and similar methods. */
export interface CallArguments extends CallRequest {
  chainId?: bigint | undefined
}

export const callArguments: Param<CallArguments> = {
  parse(value) {
    const json = asObject(value, 'transaction')
    const data = maybe(json.data, (given) => jsonBytes(given, 'data'))
    const input = maybe(json.input, (given) => jsonBytes(given, 'input'))
    return defined({
      from: maybe(json.from, (given) => normalizeHex(given, 20, 'from')),
      to: maybe(json.to, (given) => normalizeHex(given, 20, 'to')),
      gas: bigint(json, 'gas'),
      gasPrice: bigint(json, 'gasPrice'),
      maxFeePerGas: bigint(json, 'maxFeePerGas'),
      maxPriorityFeePerGas: bigint(json, 'maxPriorityFeePerGas'),
      value: bigint(json, 'value'),
      // geth prefers `input`, the newer name.
      data: input ?? data,
      nonce: maybe(json.nonce, (given) => quantityToNumber(given, 'nonce')),
      accessList: maybe(json.accessList, readAccessList),
      authorizationList: maybe(json.authorizationList, readAuthorizations),
      chainId: bigint(json, 'chainId'),
    })
  },
}

/** geth's state override set (third parameter of eth_call). */
export const stateOverrides: Param<StateOverrides | undefined> = {
  parse(value) {
    const overrides: StateOverrides = {}
    for (const [address, given] of limitedEntries(asObject(value, 'state overrides'))) {
      const json = asObject(given, address)
      const state = maybe(json.state, readSlots)
      const stateDiff = maybe(json.stateDiff, readSlots)
      if (state !== undefined && stateDiff !== undefined) {
        throw new TypeError(`account ${address} has both 'state' and 'stateDiff'`)
      }
      const override: AccountOverride = defined({
        nonce: bigint(json, 'nonce'),
        balance: bigint(json, 'balance'),
        code: maybe(json.code, (code) => jsonBytes(code, 'code')),
        state,
        stateDiff,
        movePrecompileTo: maybe(json.movePrecompileToAddress, (to) => normalizeHex(to, 20, 'movePrecompileToAddress')),
      })
      overrides[normalizeHex(address, 20, 'address')] = override
    }
    return overrides
  },
  fallback: () => undefined,
}

/** geth's block overrides (fourth parameter of eth_call). */
export const blockOverrides: Param<BlockOverrides | undefined> = {
  parse(value) {
    const json = asObject(value, 'block overrides')
    for (const name of ['beaconRoot', 'withdrawals']) {
      if (json[name] === undefined || json[name] === null) continue
      throw serverError(`block override "${name}" is not supported for this RPC method`)
    }
    return readBlockOverrides(json)
  },
  fallback: () => undefined,
}

/** The members that eth_simulateV1 shares with eth_call. */
export function readBlockOverrides(json: JsonObject): BlockOverrides {
  // Checked only: no code can read it, since PREVRANDAO replaced its opcode.
  bigint(json, 'difficulty')
  return defined({
    number: maybe(json.number, (given) => quantityToNumber(given, 'number')),
    timestamp: maybe(json.time, (given) => quantityToNumber(given, 'time')),
    gasLimit: bigint(json, 'gasLimit'),
    coinbase: maybe(json.feeRecipient, (given) => normalizeHex(given, 20, 'feeRecipient')),
    prevRandao: maybe(json.prevRandao, (given) => normalizeHex(given, 32, 'prevRandao')),
    baseFee: bigint(json, 'baseFeePerGas'),
    blobBaseFee: bigint(json, 'blobBaseFee'),
  })
}

/** Applies geth's limits to the request. */
export function limitCall(args: CallArguments, chainId: bigint, gasCap: bigint): CallRequest {
  const request = checkCall(args, chainId)
  if (gasCap === 0n || (request.gas !== undefined && request.gas <= gasCap)) return request
  return { ...request, gas: gasCap }
}

/** Throws JsonRpcError for contradicting fees or another chain ID. */
export function checkCall({ chainId: given, ...request }: CallArguments, chainId: bigint): CallRequest {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request
  if (gasPrice !== undefined && (maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined)) {
    throw serverError('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
  }
  if (given !== undefined && given !== chainId) {
    throw serverError(`chainId does not match node's (have=${given}, want=${chainId})`)
  }
  return request
}

function readAccessList(value: unknown): AccessListEntry[] {
  return readArray(value, 'accessList', MAX_ENTRIES).map((entry) => {
    const { address, storageKeys } = asObject(entry, 'accessList')
    return {
      address: normalizeHex(address, 20, 'accessList address'),
      storageKeys: readArray(storageKeys ?? [], 'storageKeys', MAX_ENTRIES).map((key) =>
        normalizeHex(key, 32, 'storage key'),
      ),
    }
  })
}

/** Signers are recovered later, after the call has paid the gas for all entries. */
function readAuthorizations(value: unknown): Authorization[] {
  return readArray(value, 'authorizationList', MAX_ENTRIES).map((entry) => {
    const json = asObject(entry, 'authorization')
    const small = (name: string, bits: number) => {
      const number = quantityToBigInt(json[name], `authorization ${name}`)
      if (number >> BigInt(bits) > 0n) throw new TypeError(`authorization ${name}: more than ${bits} bits`)
      return number
    }
    return createAuthorization({
      chainId: small('chainId', 256),
      address: normalizeHex(json.address, 20, 'authorization address'),
      nonce: small('nonce', 64),
      yParity: Number(small('yParity', 8)),
      r: small('r', 256),
      s: small('s', 256),
    })
  })
}

function readSlots(value: unknown): Record<Hex, Hex> {
  const slots: Record<Hex, Hex> = {}
  for (const [slot, word] of limitedEntries(asObject(value, 'storage'))) {
    slots[readStorageSlot(slot)] = readStorageSlot(word)
  }
  return slots
}

function limitedEntries(json: JsonObject): [string, unknown][] {
  const entries = Object.entries(json)
  if (entries.length > MAX_ENTRIES) throw new TypeError(`more than ${MAX_ENTRIES} entries`)
  return entries
}

function bigint(json: JsonObject, name: string): bigint | undefined {
  return maybe(json[name], (value) => quantityToBigInt(value, name))
}

function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
