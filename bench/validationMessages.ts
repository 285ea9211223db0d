import { randomBytes } from 'node:crypto'
import { compressSnappy } from '../src/p2p/base/snappyBlock.ts'
import { blocksTopic } from '../src/p2p/base/topics.ts'
import { signedMessage } from '../src/p2p/testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_KEY, testBlock, testConfig } from '../src/p2p/testUtils/testChain.ts'
import type { PayloadEnvelope } from '../src/rollup/protocol/types.ts'

// Gossip messages of a sequencer, and invalid ones, for bench/validation.ts

export const config = testConfig('isthmus')
export const VERSION = 4
export const TOPIC = blocksTopic(CHAIN_ID, VERSION)
const OTHER_KEY = new Uint8Array(32).fill(9)

let number = 1

/** A block with its own height and this many transactions of 200 bytes that do not compress, as signed ones do not. */
export function block(transactions: number, bytes = 200): PayloadEnvelope {
  const content = new Uint8Array(randomBytes(transactions * bytes))
  return testBlock(config, {
    blockNumber: number++,
    gasLimit: 200_000_000n,
    transactions: Array.from({ length: transactions }, (_, i) => content.subarray(i * bytes, (i + 1) * bytes)),
  })
}

export function message(envelope: PayloadEnvelope, key = SEQUENCER_KEY): Uint8Array {
  return compressSnappy(signedMessage(envelope, VERSION, CHAIN_ID, key))
}

const otherSigner = (envelope: PayloadEnvelope): Uint8Array => message(envelope, OTHER_KEY)
const stale = (envelope: PayloadEnvelope): PayloadEnvelope => ({
  ...envelope,
  payload: { ...envelope.payload, timestamp: envelope.payload.timestamp - 1000 },
})
/** Makes each message unique by a cheap counter. */
const serial = (bytes: Uint8Array): Uint8Array => {
  new DataView(bytes.buffer).setUint32(200, number++)
  return bytes
}

/** Flood messages of a hostile peer, each new. `bytes` is their approximate size on the wire. */
export const FLOODS: Record<string, () => Uint8Array> = {
  'small: 1 kB, another signer': () => otherSigner(block(2)),
  'garbage: 100 kB that is no snappy': () => new Uint8Array(randomBytes(100_000)),
  '100 kB, 500 transactions, another signer': () => otherSigner(block(500)),
  '120 kB: 30,000 empty transactions, signed by the sequencer': () => message(block(30_000, 0)),
  '1 MB, 5,000 transactions, another signer': () => otherSigner(block(5_000)),
  '1 MB, 5,000 transactions, signed by the sequencer': () => message(block(5_000)),
  '1 MB, 1,000 s old': () => otherSigner(stale(block(5_000))),
  '10 MB of zeros (0.5 MB packed)': () => compressSnappy(serial(new Uint8Array(10_000_000))),
  '10 MB of one transaction (0.5 MB packed), another signer': () =>
    otherSigner(testBlock(config, { blockNumber: number++, transactions: [new Uint8Array(10_000_000)] })),
  '10 MB that do not compress, another signer': () => otherSigner(block(1, 10_000_000)),
  '130 kB: 26,000 transactions of a byte, signed by the sequencer': () => message(block(26_000, 1)),
  '0.3 MB: 2^16 transactions of a byte, signed by the sequencer': () => message(block(2 ** 16, 1)),
  '5 MB: 2^20 transactions of a byte, signed by the sequencer': () => message(block(2 ** 20, 1)),
  '4 MB: 2^20 empty transactions, another signer': () => otherSigner(block(2 ** 20, 0)),
  '4 MB: 2^20 empty transactions, signed by the sequencer': () => message(block(2 ** 20, 0)),
}
