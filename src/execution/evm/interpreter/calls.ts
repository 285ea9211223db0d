import { concatBytes, EMPTY_BYTES } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { isEmptyAccount } from '../../state/account.ts'
import { createAddress } from '../../tx/createAddress.ts'
import { isDelegation } from '../delegation.ts'
import { MAX_INIT_CODE_BYTES } from '../intrinsicGas.ts'
import type { Start } from './frame.ts'
import { type Frame, fail, failed } from './frame.ts'
import {
  CALL_STIPEND,
  CALL_VALUE_GAS,
  COLD_ACCOUNT_GAS,
  CREATE_GAS,
  INIT_CODE_WORD_GAS,
  KECCAK_WORD_GAS,
  NEW_ACCOUNT_GAS,
  WARM_GAS,
} from './gas.ts'
import { addressNames } from './hexNames.ts'
import type { Host } from './host.ts'
import type { MessageKind, TracedMessage, Tracer } from './tracer.ts'
import { bytesToWord, type Word, wordToBytes } from './word.ts'

/** Starts the frames of calls and creations; see `Messages`. */
export interface Caller {
  host: Host
  call(call: CallInput): Start
  create(creation: CreateInput): Start
}

export interface CallInput {
  kind: MessageKind
  codeAddress: Hex
  /** The account whose storage the code reads and writes. */
  address: Hex
  caller: Hex
  /** The result of CALLVALUE. */
  value: Word
  /** Wei moved from the caller to the address. Undefined if the opcode moves nothing; then no account is touched. */
  transfer: bigint | undefined
  /** A view of the caller's memory, which does not change during the call. */
  data: Uint8Array
  gas: number
  isStatic: boolean
  parent: Frame | undefined
  outputOffset: Word
  outputSize: Word
}

export interface CreateInput {
  kind: MessageKind
  address: Hex
  creator: Hex
  value: Word
  initCode: Uint8Array
  gas: number
  parent: Frame | undefined
}

const MAX_DEPTH = 1024
export const MAX_NONCE = 2n ** 64n - 1n

const CREATE = 0xf0
const CALL = 0xf1
const CALLCODE = 0xf2
const DELEGATECALL = 0xf4
const CREATE2 = 0xf5
const STATICCALL = 0xfa
const CALL_KINDS: Readonly<Record<number, MessageKind>> = {
  [CALL]: 'CALL',
  [CALLCODE]: 'CALLCODE',
  [DELEGATECALL]: 'DELEGATECALL',
  [STATICCALL]: 'STATICCALL',
}

/**
 * Runs the call opcode at `pc`, at which the loop stopped. Returns undefined if the program continues at once, a frame
 * that must run first, or how the program ended.
 */
export function runCallOpcode(frame: Frame, caller: Caller): Start | 'done' | 'failed' {
  const opcode = frame.program.code[frame.pc] ?? 0
  frame.pc++
  if (opcode === CREATE || opcode === CREATE2) return create(frame, caller, opcode)
  const kind = CALL_KINDS[opcode]
  if (kind !== undefined) return call(frame, caller, opcode, kind)
  return selfdestruct(frame, caller.host) ? 'done' : 'failed'
}

function call(frame: Frame, caller: Caller, opcode: number, kind: MessageKind): Start | 'failed' {
  const { host } = caller
  const requested = frame.pop()
  const target = frame.pop()
  const value = opcode === CALL || opcode === CALLCODE ? frame.pop() : 0
  const inputOffset = frame.pop()
  const inputSize = frame.pop()
  const outputOffset = frame.pop()
  const outputSize = frame.pop()
  if (frame.isStatic && opcode === CALL && value !== 0) return failed(frame, 'STATIC_STATE_CHANGE')
  const address = addressNames.of(target)
  const inputGas = frame.expansionGas(inputOffset, inputSize)
  const outputGas = frame.expansionGas(outputOffset, outputSize)
  let gas = inputGas > outputGas ? inputGas : outputGas
  const isCold = host.substate.warmAddress(address)
  gas += isCold ? COLD_ACCOUNT_GAS : WARM_GAS
  if (value !== 0) gas += CALL_VALUE_GAS
  if (opcode === CALL && value !== 0 && isEmpty(host, address)) gas += NEW_ACCOUNT_GAS
  // EIP-7702: access to the delegate of the called account.
  const delegate = delegateOf(host, address)
  const isDelegateCold = delegate !== undefined && host.substate.warmAddress(delegate)
  if (delegate !== undefined) gas += isDelegateCold ? COLD_ACCOUNT_GAS : WARM_GAS
  if (gas > frame.gas) return failed(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  if (isCold) host.substate.onColdPaid?.(address, undefined, COLD_ACCOUNT_GAS - WARM_GAS)
  if (isDelegateCold) host.substate.onColdPaid?.(delegate, undefined, COLD_ACCOUNT_GAS - WARM_GAS)
  frame.grow(inputOffset, inputSize)
  frame.grow(outputOffset, outputSize)
  // EIP-150: the caller keeps a 64th of its gas.
  const available = frame.gas - Math.floor(frame.gas / 64)
  let gasLimit = requested < available ? Number(requested) : available
  frame.opcodeCost = gas + gasLimit
  frame.gas -= gasLimit
  if (value !== 0) gasLimit += CALL_STIPEND
  frame.returned = EMPTY_BYTES
  const isDelegate = opcode === DELEGATECALL
  const keepsStorage = isDelegate || opcode === CALLCODE
  const input: CallInput = {
    kind,
    codeAddress: address,
    address: keepsStorage ? frame.address : address,
    caller: isDelegate ? frame.caller : frame.address,
    value: isDelegate ? frame.value : value,
    transfer: keepsStorage ? undefined : BigInt(value),
    data: frame.part(inputOffset, inputSize),
    gas: gasLimit,
    isStatic: frame.isStatic || opcode === STATICCALL,
    parent: frame,
    outputOffset,
    outputSize,
  }
  if (frame.depth >= MAX_DEPTH || (!isDelegate && !canPay(frame, host, value))) {
    traceRefused(host.tracer, tracedCall(input), frame.depth)
    frame.gas += gasLimit
    frame.push(0)
    return undefined
  }
  return caller.call(input)
}

/** The call in the form of traces. */
export function tracedCall({ kind, parent, caller, codeAddress, value, gas, data }: CallInput): TracedMessage {
  const from = parent?.address ?? caller
  return { kind, from, to: codeAddress, value: kind === 'STATICCALL' ? undefined : BigInt(value), gas, input: data }
}

export function tracedCreation({ kind, creator, address, value, gas, initCode }: CreateInput): TracedMessage {
  return { kind, from: creator, to: address, value: BigInt(value), gas, input: initCode }
}

/** A message that cannot start gets its gas back. */
function traceRefused(tracer: Tracer | undefined, message: TracedMessage, depth: number): void {
  if (tracer === undefined) return
  tracer.onEnter?.(message)
  const failure = depth >= MAX_DEPTH ? 'max call depth exceeded' : 'insufficient balance for transfer'
  tracer.onExit?.({ gasLeft: message.gas, output: EMPTY_BYTES, failure })
}

function create(frame: Frame, caller: Caller, opcode: number): Start | 'failed' {
  const { host } = caller
  const { world } = host
  const value = frame.pop()
  const offset = frame.pop()
  const size = frame.pop()
  const salt = opcode === CREATE2 ? frame.pop() : undefined
  if (frame.isStatic) return failed(frame, 'STATIC_STATE_CHANGE')
  if (typeof size === 'bigint') return failed(frame, 'OUT_OF_GAS')
  if (host.rules.canyon && size > MAX_INIT_CODE_BYTES) return failed(frame, 'INITCODE_SIZE')
  const wordGas = (host.rules.canyon ? INIT_CODE_WORD_GAS : 0) + (salt === undefined ? 0 : KECCAK_WORD_GAS)
  const gas = frame.expansionGas(offset, size) + wordGas * Math.ceil(size / 32)
  if (gas > frame.gas) return failed(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  frame.grow(offset, size)
  frame.opcodeCost = CREATE_GAS + gas
  frame.returned = EMPTY_BYTES
  const nonce = world.nonce(frame.address)
  const initCode = frame.slice(offset, size)
  const gasLimit = frame.gas - Math.floor(frame.gas / 64)
  const creator = fromHex(frame.address)
  const address = salt === undefined ? createAddress(creator, nonce) : create2Address(creator, salt, initCode)
  const kind = salt === undefined ? 'CREATE' : 'CREATE2'
  const input: CreateInput = { kind, address, creator: frame.address, value, initCode, gas: gasLimit, parent: frame }
  if (frame.depth >= MAX_DEPTH || !canPay(frame, host, value) || nonce >= MAX_NONCE) {
    traceRefused(host.tracer, tracedCreation(input), frame.depth)
    frame.push(0)
    return undefined
  }
  world.setNonce(frame.address, nonce + 1n)
  frame.gas -= gasLimit
  return caller.create(input)
}

/** EIP-1014. */
export function create2Address(creator: Uint8Array, salt: Word, initCode: Uint8Array): Hex {
  const preimage = concatBytes(Uint8Array.of(0xff), creator, wordToBytes(salt), keccak256(initCode))
  return toHex(keccak256(preimage).subarray(12))
}

function selfdestruct(frame: Frame, host: Host): boolean {
  const { world, substate } = host
  const beneficiary = addressNames.of(frame.pop())
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  const balance = world.balance(frame.address)
  const isCold = substate.warmAddress(beneficiary)
  let gas = isCold ? COLD_ACCOUNT_GAS : 0
  if (balance > 0n && isEmpty(host, beneficiary)) gas += NEW_ACCOUNT_GAS
  frame.gas -= gas
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  if (isCold) substate.onColdPaid?.(beneficiary, undefined, COLD_ACCOUNT_GAS)
  host.tracer?.onEnter?.({
    kind: 'SELFDESTRUCT',
    from: frame.address,
    to: beneficiary,
    value: balance,
    gas: 0,
    input: EMPTY_BYTES,
  })
  host.tracer?.onExit?.({ gasLeft: 0, output: EMPTY_BYTES })
  // EIP-6780: only a contract created in this transaction is deleted.
  const goesAway = !host.rules.ecotone || substate.created.has(frame.address)
  if (beneficiary !== frame.address) {
    world.addBalance(beneficiary, balance)
    world.addBalance(frame.address, -balance)
  } else if (goesAway) world.addBalance(frame.address, -balance)
  if (goesAway) substate.noteDestroyed(frame.address)
  return true
}

/** EIP-7702: the address whose code the account runs instead of its own. */
export function delegateOf({ world, rules }: Host, address: Hex): Hex | undefined {
  if (!rules.isthmus) return undefined
  const code = world.code(address)
  return isDelegation(code) ? addressNames.of(bytesToWord(code.subarray(3))) : undefined
}

function isEmpty(host: Host, address: Hex): boolean {
  const record = host.world.account(address)
  return record === undefined || isEmptyAccount(record)
}

function canPay(frame: Frame, host: Host, value: Word): boolean {
  return value === 0 || host.world.balance(frame.address) >= BigInt(value)
}
