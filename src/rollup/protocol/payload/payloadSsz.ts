import { concatBytes, EMPTY_BYTES, viewOf } from '../../../lib/bytes.ts'
import { DecodeError, DeviumError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex, toSafeNumber } from '../../../lib/hex.ts'
import type { ExecutionPayload, PayloadEnvelope, Withdrawal } from '../types.ts'

/** Version of the gossip topic and of its container (specs: rollup-node-p2p, "blocksv1" to "blocksv4"). */
export type PayloadVersion = 1 | 2 | 3 | 4

const FIXED_BYTES: Record<PayloadVersion, number> = { 1: 508, 2: 512, 3: 528, 4: 560 }
const MAX_EXTRA_DATA_BYTES = 32
/** SSZ list limit of the container (consensus specs: MAX_TRANSACTIONS_PER_PAYLOAD). */
const MAX_TRANSACTIONS = 2 ** 20
/**
 * No valid block has more transactions. The OP Stack's SystemConfig contract allows a block 500,000,000 gas
 * (MAX_GAS_LIMIT). A transaction takes at least 21,000 gas (intrinsic gas; for deposits OptimismPortal's
 * minimumGasLimit), which gives 23,809. The limit is nearly three times as high, for chains with their own contracts.
 */
export const MAX_BLOCK_TRANSACTIONS = 2 ** 16
const OFFSETS_AT_ONCE = 16_384
const WITHDRAWAL_BYTES = 44
/** consensus specs: MAX_WITHDRAWALS_PER_PAYLOAD. */
const MAX_WITHDRAWALS = 16
const BEACON_ROOT_BYTES = 32

/**
 * Body of a gossip message: the SSZ container, since version 3 after the parent beacon block root. Throws DeviumError
 * (`payload-version`) if a member that the version needs is absent.
 */
export function encodePayloadEnvelope(envelope: PayloadEnvelope, version: PayloadVersion): Uint8Array {
  const ssz = encodePayloadSsz(envelope.payload, version)
  if (version < 3) return ssz
  const root = envelope.parentBeaconBlockRoot
  if (root === undefined) throw missingMember('parentBeaconBlockRoot', version)
  return concatBytes(fromHex(root, 32, 'parentBeaconBlockRoot'), ssz)
}

/** Decodes the container's list of transactions. */
export type TransactionReader = (list: Uint8Array) => Uint8Array[]

/** Decodes a gossip body. Transactions are views into `bytes`, or the result of `read`. Throws DecodeError. */
export function decodePayloadEnvelope(
  bytes: Uint8Array,
  version: PayloadVersion,
  read: TransactionReader = readTransactions,
): PayloadEnvelope {
  if (version < 3) return { payload: decodePayloadSsz(bytes, version, read) }
  if (bytes.length < BEACON_ROOT_BYTES) throw new DecodeError(`payload envelope: only ${bytes.length} bytes`)
  return {
    parentBeaconBlockRoot: toHex(bytes.subarray(0, BEACON_ROOT_BYTES)),
    payload: decodePayloadSsz(bytes.subarray(BEACON_ROOT_BYTES), version, read),
  }
}

/**
 * Bounds of the transaction list in a gossip body; undefined if they are out of range. The rest of the body is not
 * validated.
 */
export function transactionsPlace(
  body: Uint8Array,
  version: PayloadVersion,
): { start: number; end: number } | undefined {
  const base = version < 3 ? 0 : BEACON_ROOT_BYTES
  if (body.length < base + FIXED_BYTES[version]) return undefined
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const start = base + view.getUint32(base + 504, true)
  const end = version >= 2 ? base + view.getUint32(base + 508, true) : body.length
  return start <= end && end <= body.length ? { start, end } : undefined
}

/** The number of transactions that the list of a gossip body claims; 0 if the list is unreadable. */
export function claimedTransactions(body: Uint8Array, version: PayloadVersion): number {
  const place = transactionsPlace(body, version)
  if (place === undefined || place.end - place.start < 4) return 0
  const first = viewOf(body).getUint32(place.start, true)
  return first % 4 === 0 && first <= place.end - place.start ? first / 4 : 0
}

/** The container alone, as req/resp sync before Ecotone sends it. Errors as in `encodePayloadEnvelope`. */
export function encodePayloadSsz(payload: ExecutionPayload, version: PayloadVersion): Uint8Array {
  const fixed = FIXED_BYTES[version]
  const extraData = fromHex(payload.extraData, undefined, 'extraData')
  if (extraData.length > MAX_EXTRA_DATA_BYTES) throw new DecodeError(`extraData: ${extraData.length} bytes`)
  const transactionsStart = fixed + extraData.length
  const withdrawalsStart = transactionsStart + listLength(payload.transactions)
  const withdrawals = version >= 2 ? (payload.withdrawals ?? []) : []
  const out = new Uint8Array(withdrawalsStart + withdrawals.length * WITHDRAWAL_BYTES)
  const view = new DataView(out.buffer)
  out.set(fromHex(payload.parentHash, 32, 'parentHash'), 0)
  out.set(fromHex(payload.feeRecipient, 20, 'feeRecipient'), 32)
  out.set(fromHex(payload.stateRoot, 32, 'stateRoot'), 52)
  out.set(fromHex(payload.receiptsRoot, 32, 'receiptsRoot'), 84)
  out.set(fromHex(payload.logsBloom, 256, 'logsBloom'), 116)
  out.set(fromHex(payload.prevRandao, 32, 'prevRandao'), 372)
  view.setBigUint64(404, BigInt(payload.blockNumber), true)
  view.setBigUint64(412, payload.gasLimit, true)
  view.setBigUint64(420, payload.gasUsed, true)
  view.setBigUint64(428, BigInt(payload.timestamp), true)
  view.setUint32(436, fixed, true)
  writeUint256(view, 440, payload.baseFeePerGas)
  out.set(fromHex(payload.blockHash, 32, 'blockHash'), 472)
  view.setUint32(504, transactionsStart, true)
  if (version >= 2) view.setUint32(508, withdrawalsStart, true)
  if (version >= 3) {
    if (payload.blobGasUsed === undefined) throw missingMember('blobGasUsed', version)
    if (payload.excessBlobGas === undefined) throw missingMember('excessBlobGas', version)
    view.setBigUint64(512, payload.blobGasUsed, true)
    view.setBigUint64(520, payload.excessBlobGas, true)
  }
  if (version >= 4) {
    if (payload.withdrawalsRoot === undefined) throw missingMember('withdrawalsRoot', version)
    out.set(fromHex(payload.withdrawalsRoot, 32, 'withdrawalsRoot'), 528)
  }
  out.set(extraData, fixed)
  writeTransactions(out, view, transactionsStart, payload.transactions)
  withdrawals.forEach((withdrawal, i) => {
    writeWithdrawal(out, view, withdrawalsStart + i * WITHDRAWAL_BYTES, withdrawal)
  })
  return out
}

/**
 * The bytes of `encodePayloadEnvelope`, in chunks of `partBytes`; the last chunk may be shorter. A large block then
 * need not be encoded at once. Throws the same errors, before the first chunk.
 */
export function encodePayloadParts(
  envelope: PayloadEnvelope,
  version: PayloadVersion,
  partBytes: number,
): Iterable<Uint8Array> {
  const { transactions } = envelope.payload
  const bytes = listLength(transactions)
  const bare = encodePayloadEnvelope({ ...envelope, payload: { ...envelope.payload, transactions: [] } }, version)
  const { end } = transactionsPlace(bare, version) ?? { end: bare.length }
  const base = version < 3 ? 0 : BEACON_ROOT_BYTES
  if (version >= 2) viewOf(bare).setUint32(base + 508, end - base + bytes, true)
  return inParts(
    [[bare.subarray(0, end)], transactionOffsets(transactions), transactions, [bare.subarray(end)]],
    partBytes,
  )
}

/** The offsets at the start of the list, some thousands at a time. */
function* transactionOffsets(transactions: readonly Uint8Array[]): Generator<Uint8Array> {
  let offset = transactions.length * 4
  for (let from = 0; from < transactions.length; from += OFFSETS_AT_ONCE) {
    const some = transactions.slice(from, from + OFFSETS_AT_ONCE)
    const offsets = new Uint8Array(some.length * 4)
    const view = viewOf(offsets)
    some.forEach((transaction, i) => {
      view.setUint32(i * 4, offset, true)
      offset += transaction.length
    })
    yield offsets
  }
}

function* inParts(pieces: readonly Iterable<Uint8Array>[], partBytes: number): Generator<Uint8Array> {
  let part = new Uint8Array(partBytes)
  let used = 0
  for (const some of pieces) {
    for (const piece of some) {
      for (let at = 0; at < piece.length; ) {
        const isWhole = at === 0 && piece.length <= partBytes - used
        const fitting = isWhole ? piece : piece.subarray(at, at + partBytes - used)
        part.set(fitting, used)
        used += fitting.length
        at += fitting.length
        if (used < partBytes) continue
        yield part
        part = new Uint8Array(partBytes)
        used = 0
      }
    }
  }
  if (used > 0) yield part.subarray(0, used)
}

/** The container alone; otherwise like `decodePayloadEnvelope`. */
export function decodePayloadSsz(
  bytes: Uint8Array,
  version: PayloadVersion,
  read: TransactionReader = readTransactions,
): ExecutionPayload {
  const fixed = FIXED_BYTES[version]
  if (bytes.length < fixed)
    throw new DecodeError(`payload: ${bytes.length} bytes, version ${version} has ${fixed} or more`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const extraDataStart = view.getUint32(436, true)
  const transactionsStart = view.getUint32(504, true)
  const withdrawalsStart = version >= 2 ? view.getUint32(508, true) : bytes.length
  if (extraDataStart !== fixed) throw new DecodeError(`payload: extraData at ${extraDataStart}, expected ${fixed}`)
  if (transactionsStart < extraDataStart || transactionsStart > extraDataStart + MAX_EXTRA_DATA_BYTES) {
    throw new DecodeError(`payload: transactions at ${transactionsStart}`)
  }
  if (withdrawalsStart < transactionsStart || withdrawalsStart > bytes.length) {
    throw new DecodeError(`payload: withdrawals at ${withdrawalsStart}`)
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const hex = (start: number, end: number): Hex => `0x${buffer.toString('hex', start, end)}`
  const payload: ExecutionPayload = {
    parentHash: hex(0, 32),
    feeRecipient: hex(32, 52),
    stateRoot: hex(52, 84),
    receiptsRoot: hex(84, 116),
    logsBloom: hex(116, 372),
    prevRandao: hex(372, 404),
    blockNumber: toSafeNumber(view.getBigUint64(404, true), 'payload block number'),
    gasLimit: view.getBigUint64(412, true),
    gasUsed: view.getBigUint64(420, true),
    timestamp: toSafeNumber(view.getBigUint64(428, true), 'payload timestamp'),
    extraData: hex(extraDataStart, transactionsStart),
    baseFeePerGas: readUint256(view, 440),
    blockHash: hex(472, 504),
    transactions: read(bytes.subarray(transactionsStart, withdrawalsStart)),
  }
  if (version >= 2) payload.withdrawals = readWithdrawals(bytes.subarray(withdrawalsStart))
  if (version >= 3) {
    payload.blobGasUsed = view.getBigUint64(512, true)
    payload.excessBlobGas = view.getBigUint64(520, true)
  }
  if (version >= 4) payload.withdrawalsRoot = hex(528, 560)
  return payload
}

function listLength(transactions: readonly Uint8Array[]): number {
  if (transactions.length > MAX_TRANSACTIONS) throw new DecodeError(`payload: ${transactions.length} transactions`)
  let length = transactions.length * 4
  for (const tx of transactions) length += tx.length
  return length
}

/** SSZ list of byte lists: one offset for each item, relative to the list, then the bytes. */
function writeTransactions(out: Uint8Array, view: DataView, start: number, transactions: readonly Uint8Array[]): void {
  let offset = transactions.length * 4
  let entry = start
  for (const tx of transactions) {
    view.setUint32(entry, offset, true)
    out.set(tx, start + offset)
    entry += 4
    offset += tx.length
  }
}

/** Views of the transactions in the container's list. Throws DecodeError. */
export function readTransactions(list: Uint8Array): Uint8Array[] {
  const transactions: Uint8Array[] = []
  eachTransaction(list, (start, end) => {
    transactions.push(end === start ? EMPTY_BYTES : new Uint8Array(list.buffer, list.byteOffset + start, end - start))
  })
  return transactions
}

/** A reader that validates the list but returns no transactions. */
export const checkTransactions: TransactionReader = (list) => {
  eachTransaction(list, () => {})
  return []
}

/** Visits the bounds of each transaction in the list. Throws DecodeError. */
function eachTransaction(list: Uint8Array, visit: (start: number, end: number) => void): void {
  const count = transactionCount(list)
  const view = viewOf(list)
  let start = count * 4
  for (let i = 1; i <= count; i++) {
    const end = i === count ? list.length : view.getUint32(i * 4, true)
    if (end < start || end > list.length) throw new DecodeError(`payload: transaction ${i - 1} ends at ${end}`)
    visit(start, end)
    start = end
  }
}

export function transactionCount(list: Uint8Array): number {
  if (list.length === 0) return 0
  if (list.length < 4) throw new DecodeError(`payload: transaction list of ${list.length} bytes`)
  const first = new DataView(list.buffer, list.byteOffset, list.length).getUint32(0, true)
  if (first === 0 || first % 4 !== 0 || first > list.length) {
    throw new DecodeError(`payload: first transaction at ${first} of ${list.length}`)
  }
  const count = first / 4
  if (count > MAX_TRANSACTIONS) throw new DecodeError(`payload: ${count} transactions`)
  return count
}

function writeWithdrawal(out: Uint8Array, view: DataView, start: number, withdrawal: Withdrawal): void {
  view.setBigUint64(start, withdrawal.index, true)
  view.setBigUint64(start + 8, withdrawal.validatorIndex, true)
  out.set(fromHex(withdrawal.address, 20, 'withdrawal address'), start + 16)
  view.setBigUint64(start + 36, withdrawal.amount, true)
}

function readWithdrawals(list: Uint8Array): Withdrawal[] {
  const count = list.length / WITHDRAWAL_BYTES
  if (!Number.isInteger(count) || count > MAX_WITHDRAWALS) {
    throw new DecodeError(`payload: withdrawals of ${list.length} bytes`)
  }
  const view = new DataView(list.buffer, list.byteOffset, list.length)
  return Array.from({ length: count }, (_, i) => {
    const start = i * WITHDRAWAL_BYTES
    return {
      index: view.getBigUint64(start, true),
      validatorIndex: view.getBigUint64(start + 8, true),
      address: toHex(list.subarray(start + 16, start + 36)),
      amount: view.getBigUint64(start + 36, true),
    }
  })
}

function writeUint256(view: DataView, offset: number, value: bigint): void {
  if (value < 0n || value >> 256n !== 0n) throw new RangeError(`${value} does not fit 256 bits`)
  for (let i = 0; i < 4; i++) view.setBigUint64(offset + i * 8, BigInt.asUintN(64, value >> BigInt(i * 64)), true)
}

function readUint256(view: DataView, offset: number): bigint {
  let value = 0n
  for (let i = 3; i >= 0; i--) value = (value << 64n) | view.getBigUint64(offset + i * 8, true)
  return value
}

function missingMember(name: string, version: PayloadVersion): DeviumError {
  return new DeviumError('payload-version', `payload has no ${name}, which version ${version} needs`)
}
