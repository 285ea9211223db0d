import { EVMError, Message } from '@ethereumjs/evm'
import { Account, Address } from '@ethereumjs/util'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { isEmptyAccount } from '../../state/account.ts'
import { isDelegation } from '../delegation.ts'
import { MAX_INIT_CODE_BYTES } from '../intrinsicGas.ts'
import { programOf } from './code.ts'
import type { FastEvm } from './fastEvm.ts'
import { Frame, fail, type RawLog } from './frame.ts'
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
import type { Host } from './host.ts'
import { bytesToWord, type Word, wordToAddress, wordToBytes } from './word.ts'

/** What a frame and those it called leave for the end of the transaction. */
export interface Effects {
  /** Contract → beneficiary. */
  selfdestruct: Map<Hex, Hex>
  createdAddresses: Set<Hex>
}

export interface CallContext {
  evm: FastEvm
  host: Host
  effects: Effects
}

const EMPTY = new Uint8Array(0)
const MAX_DEPTH = 1024
const MAX_NONCE = 2n ** 64n - 1n

const CREATE = 0xf0
const CALL = 0xf1
const CALLCODE = 0xf2
const DELEGATECALL = 0xf4
const CREATE2 = 0xf5
const STATICCALL = 0xfa

/** Carries out the opcode at `pc`, for which the loop came back. */
export async function runCallOpcode(frame: Frame, context: CallContext): Promise<'continue' | 'done' | 'failed'> {
  const opcode = frame.program.code[frame.pc] ?? 0
  frame.pc++
  if (opcode === CREATE || opcode === CREATE2) return (await create(frame, context, opcode)) ? 'continue' : 'failed'
  if (opcode === CALL || opcode === CALLCODE || opcode === DELEGATECALL || opcode === STATICCALL) {
    return (await call(frame, context, opcode)) ? 'continue' : 'failed'
  }
  return (await selfdestruct(frame, context)) ? 'done' : 'failed'
}

async function call(frame: Frame, context: CallContext, opcode: number): Promise<boolean> {
  const requested = frame.pop()
  const target = frame.pop()
  const value = opcode === CALL || opcode === CALLCODE ? frame.pop() : 0
  const inputOffset = frame.pop()
  const inputSize = frame.pop()
  const outputOffset = frame.pop()
  const outputSize = frame.pop()
  if (frame.isStatic && opcode === CALL && value !== 0) return fail(frame, 'STATIC_STATE_CHANGE')
  const address = wordToAddress(target)
  const inputGas = frame.expansionGas(inputOffset, inputSize)
  const outputGas = frame.expansionGas(outputOffset, outputSize)
  let gas = inputGas > outputGas ? inputGas : outputGas
  gas += accessGas(frame, context.host, target, address)
  if (value !== 0) gas += CALL_VALUE_GAS
  if (opcode === CALL && value !== 0 && isEmpty(context.host, address)) gas += NEW_ACCOUNT_GAS
  gas += delegationGas(frame, context, address)
  if (gas > frame.gas) return fail(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  frame.grow(inputOffset, inputSize)
  frame.grow(outputOffset, outputSize)
  // EIP-150: a 64th stays here.
  const available = frame.gas - Math.floor(frame.gas / 64)
  let gasLimit = requested < available ? Number(requested) : available
  frame.opcodeCost = gas + gasLimit
  if (value !== 0) {
    gasLimit += CALL_STIPEND
    frame.gas += CALL_STIPEND
  }
  frame.returned = EMPTY
  const isDelegate = opcode === DELEGATECALL
  if (frame.depth >= MAX_DEPTH || (!isDelegate && !canPay(frame, context.host, value))) {
    frame.push(0)
    return true
  }
  const keepsStorage = isDelegate || opcode === CALLCODE
  const data = frame.slice(inputOffset, inputSize)
  const isStatic = frame.isStatic || opcode === STATICCALL
  let succeeded: boolean
  await context.evm.takeTurn()
  if (value === 0) {
    succeeded = await callWithoutTransfer(frame, context, {
      codeAddress: address,
      address: keepsStorage ? frame.address : fromHex(address),
      addressHex: keepsStorage ? frame.addressHex : address,
      caller: isDelegate ? frame.caller : frame.addressHex,
      value: isDelegate ? frame.value : 0,
      data,
      gas: gasLimit,
      isStatic,
    })
  } else {
    const here = new Address(frame.address)
    const there = new Address(fromHex(address))
    const sent = await send(frame, context, {
      caller: here,
      gasLimit: BigInt(gasLimit),
      to: keepsStorage ? here : there,
      ...(keepsStorage ? { codeAddress: there } : {}),
      value: BigInt(value),
      data,
      isStatic,
    })
    succeeded = sent !== undefined
  }
  const copied = frame.returned.length < outputSize ? frame.returned.length : outputSize
  frame.copy(outputOffset, frame.returned, 0, copied)
  frame.push(succeeded ? 1 : 0)
  return true
}

interface DirectCall {
  codeAddress: Hex
  address: Uint8Array
  addressHex: Hex
  caller: Hex
  value: Word
  data: Uint8Array
  gas: number
  isStatic: boolean
}

/** A call that moves no ether, without a message of EthereumJS's. */
async function callWithoutTransfer(frame: Frame, context: CallContext, call: DirectCall): Promise<boolean> {
  const { evm, host, effects } = context
  const { world } = host
  const record = world.account(call.addressHex)
  // EIP-161: an account that is empty, as only a genesis file can have it, goes away once it is touched.
  if (record !== undefined && isEmptyAccount(record)) {
    const { nonce, balance, storageRoot, codeHash } = record
    await evm.journal.putAccount(new Address(call.address), new Account(nonce, balance, storageRoot, codeHash))
  }
  const precompiled = evm.callPrecompile(call.codeAddress, call.data, call.gas)
  if (precompiled !== undefined) {
    const { exceptionError, executionGasUsed, returnValue } = await precompiled
    frame.gas -= Number(executionGasUsed)
    if (exceptionError !== undefined) return false
    frame.returned = returnValue.slice()
    return true
  }
  let code = world.code(call.codeAddress)
  if (host.followsDelegations && isDelegation(code)) code = world.code(wordToAddress(bytesToWord(code.subarray(3))))
  if (code.length === 0) return true
  const { addressHex, codeAddress: _, ...input } = call
  const child = new Frame(
    { ...input, program: programOf(code), gasRefund: frame.gasRefund, depth: frame.depth + 1 },
    addressHex,
    evm.stackAt(frame.depth + 1),
  )
  const inner: Effects = {
    selfdestruct: new Map(effects.selfdestruct),
    createdAddresses: new Set(effects.createdAddresses),
  }
  await evm.journal.checkpoint()
  evm.transientStorage.checkpoint()
  const end = await evm.runFrame(child, host, inner)
  frame.gas -= end === 'failed' ? call.gas : call.gas - child.gas
  if (end !== 'failed') frame.returned = child.output
  if (end !== 'done') {
    await evm.journal.revert()
    evm.transientStorage.revert()
    return false
  }
  await evm.journal.commit()
  evm.transientStorage.commit()
  adopt(frame, effects, { logs: child.logs, gasRefund: child.gasRefund, ...inner })
  return true
}

/** Takes over what a successful call did. */
function adopt(frame: Frame, effects: Effects, done: Effects & { logs: readonly RawLog[]; gasRefund: number }): void {
  for (const log of done.logs) frame.logs.push(log)
  frame.gasRefund = done.gasRefund
  for (const [contract, beneficiary] of done.selfdestruct) effects.selfdestruct.set(contract, beneficiary)
  for (const created of done.createdAddresses) effects.createdAddresses.add(created)
}

async function create(frame: Frame, context: CallContext, opcode: number): Promise<boolean> {
  const { host } = context
  const value = frame.pop()
  const offset = frame.pop()
  const size = frame.pop()
  const salt = opcode === CREATE2 ? frame.pop() : undefined
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  if (typeof size === 'bigint') return fail(frame, 'OUT_OF_GAS')
  if (host.limitsInitCode && size > MAX_INIT_CODE_BYTES) return fail(frame, 'INITCODE_SIZE_VIOLATION')
  const wordGas = (host.limitsInitCode ? INIT_CODE_WORD_GAS : 0) + (salt === undefined ? 0 : KECCAK_WORD_GAS)
  const gas = frame.expansionGas(offset, size) + wordGas * Math.ceil(size / 32)
  if (gas > frame.gas) return fail(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  frame.grow(offset, size)
  frame.opcodeCost = CREATE_GAS + gas
  const gasLimit = frame.gas - Math.floor(frame.gas / 64)
  frame.returned = EMPTY
  const account = host.world.account(frame.addressHex)
  const nonce = account?.nonce ?? 0n
  if (frame.depth >= MAX_DEPTH || !canPay(frame, host, value) || nonce >= MAX_NONCE) {
    frame.push(0)
    return true
  }
  const here = new Address(frame.address)
  const { balance = 0n, storageRoot, codeHash } = account ?? {}
  await context.evm.journal.putAccount(here, new Account(nonce + 1n, balance, storageRoot, codeHash))
  await context.evm.takeTurn()
  const created = await send(frame, context, {
    caller: here,
    gasLimit: BigInt(gasLimit),
    value: BigInt(value),
    data: frame.slice(offset, size),
    ...(salt === undefined ? {} : { salt: wordToBytes(salt) }),
  })
  frame.push(created === undefined ? 0 : bytesToWord(created))
  return true
}

/**
 * Sends the message and takes over what it did. Returns the address of a created contract (empty for a call), undefined
 * when it failed.
 */
async function send(
  frame: Frame,
  context: CallContext,
  fields: Omit<ConstructorParameters<typeof Message>[0], 'depth' | 'selfdestruct' | 'createdAddresses' | 'gasRefund'>,
): Promise<Uint8Array | undefined> {
  const { effects } = context
  const inner: Effects = {
    selfdestruct: new Map(effects.selfdestruct),
    createdAddresses: new Set(effects.createdAddresses),
  }
  const message = new Message({ ...fields, ...inner, depth: frame.depth + 1, gasRefund: BigInt(frame.gasRefund) })
  const { createdAddress, execResult } = await context.evm.runCall({ message })
  const { exceptionError, executionGasUsed, gasRefund = 0n, logs = [], returnValue } = execResult
  frame.gas -= Number(executionGasUsed)
  const isRevert = exceptionError?.error === EVMError.errorMessages.REVERT
  // A creation gives data back only when it reverts.
  if (isRevert || (exceptionError === undefined && fields.to !== undefined)) frame.returned = returnValue.slice()
  if (exceptionError !== undefined) return undefined
  adopt(frame, effects, { logs, gasRefund: Number(gasRefund), ...inner })
  return createdAddress?.bytes ?? new Uint8Array(0)
}

async function selfdestruct(frame: Frame, context: CallContext): Promise<boolean> {
  const { effects, evm, host } = context
  const word = frame.pop()
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  const beneficiary = wordToAddress(word)
  const balance = host.world.balance(frame.addressHex)
  let gas = host.isColdAddress(frame, word, beneficiary) ? COLD_ACCOUNT_GAS : 0
  if (balance > 0n && isEmpty(host, beneficiary)) gas += NEW_ACCOUNT_GAS
  frame.gas -= gas
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  effects.selfdestruct.set(frame.addressHex, beneficiary)
  const isSelf = beneficiary === frame.addressHex
  if (!isSelf) {
    const { nonce = 0n, balance: before = 0n, storageRoot, codeHash } = host.world.account(beneficiary) ?? {}
    const account = new Account(nonce, before + balance, storageRoot, codeHash)
    await evm.journal.putAccount(new Address(fromHex(beneficiary)), account)
  }
  // EIP-6780: only a contract of this transaction burns what it sends to itself.
  const record = host.world.account(frame.addressHex)
  if (record !== undefined && (!isSelf || !host.keepsContracts || effects.createdAddresses.has(frame.addressHex))) {
    host.world.putAccount(frame.addressHex, { ...record, balance: 0n })
  }
  return true
}

function accessGas(frame: Frame, host: Host, word: Word, address: Hex): number {
  return host.isColdAddress(frame, word, address) ? COLD_ACCOUNT_GAS : WARM_GAS
}

/** EIP-7702: access to the delegate of the called account. */
function delegationGas(frame: Frame, { host }: CallContext, address: Hex): number {
  if (!host.followsDelegations) return 0
  const code = host.world.code(address)
  if (!isDelegation(code)) return 0
  const delegate = code.subarray(3)
  const word = bytesToWord(delegate)
  return accessGas(frame, host, word, wordToAddress(word))
}

function isEmpty(host: Host, address: Hex): boolean {
  const record = host.world.account(address)
  return record === undefined || isEmptyAccount(record)
}

function canPay(frame: Frame, host: Host, value: Word): boolean {
  return value === 0 || host.world.balance(frame.addressHex) >= BigInt(value)
}
