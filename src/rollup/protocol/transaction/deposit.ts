import { bytesToBigInt } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import type { Hex } from '../../../lib/hex.ts'
import type { DepositTx, L1Log, L1Receipt } from '../types.ts'
import { encodeTransaction } from './encode.ts'
import { DEPOSIT_TX_TYPE } from './fields.ts'
import { TransactionReader } from './reader.ts'
import { userDepositSourceHash } from './sourceHash.ts'

export type { DepositTx }

export function isDepositTx(encoded: Uint8Array): boolean {
  return encoded[0] === DEPOSIT_TX_TYPE
}

export function encodeDepositTx({ gas, ...tx }: DepositTx): Uint8Array {
  return encodeTransaction({ type: DEPOSIT_TX_TYPE, ...tx, gasLimit: gas })
}

/** Throws DecodeError. */
export function decodeDepositTx(raw: Uint8Array): DepositTx {
  if (!isDepositTx(raw)) throw new DecodeError(`deposit: type byte is ${raw[0]}, expected ${DEPOSIT_TX_TYPE}`)
  const reader = new TransactionReader(raw)
  const isSystemTx = reader.bigint('isSystemTx')
  if (isSystemTx > 1n) throw new DecodeError(`deposit isSystemTx: ${isSystemTx} is not a boolean`)
  return {
    sourceHash: reader.hex('sourceHash'),
    from: reader.hex('from'),
    to: reader.to,
    mint: reader.bigint('mint'),
    value: reader.bigint('value'),
    gas: reader.bigint('gas'),
    isSystemTx: isSystemTx === 1n,
    data: reader.bytes('input'),
  }
}

export function depositTxHash(tx: DepositTx): Hex {
  return keccak256Hex(encodeDepositTx(tx))
}

/** keccak256("TransactionDeposited(address,address,uint256,bytes)") */
export const TRANSACTION_DEPOSITED_TOPIC: Hex = '0xb3813568d9991fc951961fcb4c784893574240a28925604d09fc577c55bb7c32'
const ZERO_VERSION_TOPIC: Hex = `0x${'0'.repeat(64)}`
/** Lengths: mint u256, value u256, gas u64, isCreation. */
const OPAQUE_FIXED_BYTES = 73

/**
 * The deposit of an OptimismPortal log (specs: deposits, "Deposit contract"). Throws a critical DecodeError: only a
 * wrong contract can emit such a log.
 */
export function userDepositFromLog(log: L1Log, l1BlockHash: Hex): DepositTx {
  if (log.topics.length !== 4) throw badDeposit(log, `${log.topics.length} topics, expected 4`)
  const [event, from, to, version] = log.topics
  if (event !== TRANSACTION_DEPOSITED_TOPIC) throw badDeposit(log, `event ${event}`)
  if (version !== ZERO_VERSION_TOPIC) throw badDeposit(log, `version ${version} is not supported`)
  const opaque = readOpaqueData(log)
  const sender = addressOfTopic(log, from)
  const recipient = addressOfTopic(log, to)
  const isCreation = opaque[72] !== 0
  return {
    sourceHash: userDepositSourceHash(l1BlockHash, log.logIndex),
    from: sender,
    to: isCreation ? null : recipient,
    mint: bytesToBigInt(opaque.subarray(0, 32)),
    value: bytesToBigInt(opaque.subarray(32, 64)),
    gas: bytesToBigInt(opaque.subarray(64, 72)),
    isSystemTx: false,
    data: opaque.subarray(OPAQUE_FIXED_BYTES),
  }
}

/** User deposits of an L1 block, in the order of their logs. Receipts of failed transactions are skipped. */
export function depositsFromReceipts(
  receipts: readonly L1Receipt[],
  depositContract: Hex,
  l1BlockHash: Hex,
): DepositTx[] {
  const deposits: DepositTx[] = []
  for (const receipt of receipts) {
    if (!receipt.status) continue
    for (const log of receipt.logs) {
      if (log.address !== depositContract || log.topics[0] !== TRANSACTION_DEPOSITED_TOPIC) continue
      deposits.push(userDepositFromLog(log, l1BlockHash))
    }
  }
  return deposits
}

/** ABI-encoded `bytes`: offset 32, length, then data padded exactly to the next full word. */
function readOpaqueData(log: L1Log): Uint8Array {
  const { data } = log
  if (data.length < 64 || data.length % 32 !== 0) throw badDeposit(log, `data of ${data.length} bytes`)
  if (bytesToBigInt(data.subarray(0, 32)) !== 32n) throw badDeposit(log, 'opaque data does not begin at byte 32')
  const length = bytesToBigInt(data.subarray(32, 64))
  const available = BigInt(data.length - 64)
  if (length > available || length + 32n <= available) throw badDeposit(log, `opaque data of ${length} bytes`)
  if (length < OPAQUE_FIXED_BYTES) throw badDeposit(log, `opaque data of ${length} bytes is too short`)
  return data.subarray(64, 64 + Number(length))
}

function addressOfTopic(log: L1Log, topic: Hex | undefined): Hex {
  if (topic === undefined || topic.length !== 66) throw badDeposit(log, `address topic ${topic}`)
  return `0x${topic.slice(26).toLowerCase()}`
}

function badDeposit(log: L1Log, reason: string): DecodeError {
  return new DecodeError(`deposit log ${log.logIndex}: ${reason}`, { severity: 'critical' })
}
