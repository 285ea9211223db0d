import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { JsonObjectReader } from '../../../lib/jsonReader.ts'
import { type DepositTx, decodeDepositTx, encodeDepositTx, isDepositTx } from '../transaction/deposit.ts'
import { upgradeSourceHash } from '../transaction/sourceHash.ts'

// Upgrade transactions that are published as a file (format 1.0.0): `transactions`, each with intent, from, to, data
// and gasLimit. Since Karst, a fork's activation block contains the transactions of its bundle (specs:
// karst/derivation, lagoon/derivation).

export type BundledFork = 'karst' | 'lagoon'

/** Properties that identify a fork's bundle. Only one list of transactions has this digest. */
export interface BundlePin {
  fork: BundledFork
  /** Prefix of the text that gives a transaction's source hash: `<intents> <index>: <intent>`. */
  intents: string
  /** keccak256 of the concatenated deposit encodings. */
  digest: Hex
  gas: bigint
  /** Hash of the last deposit, which is the same on every chain. An execution client finds the block by it. */
  lastHash: Hex
  /** Hash of the published file; absent if the bundle is built in. */
  sha256?: Hex
}

export interface UpgradeBundle {
  pin: BundlePin
  deposits: readonly DepositTx[]
}

export const BUNDLE_PINS = {
  karst: {
    fork: 'karst',
    intents: 'Karst',
    digest: '0x2f47d1bd06afb3ebf55140cc3e21eb064ede47f4c1c0f4be80469a4ed5c325cb',
    gas: 55_370_657n,
    lastHash: '0xd2e9eb2ba77098610e7dda134e70f741f7456f4ec49912d667860c40988dfd8e',
  },
  lagoon: {
    fork: 'lagoon',
    intents: 'Interop',
    digest: '0x734f3d66f6fcf23fec5377e0653163d2ba78c085acb285e85049370bd73b38ff',
    gas: 64_827_394n,
    lastHash: '0x68a57762d61d525ea802dba9eeea562c649a197a6e3f55acf396477b254a1bbd',
    sha256: '0xa4a9dac53431d07e4f24a803f23f0216e10396269a17d1df7ecd64393dc76b5e',
  },
} as const satisfies Record<BundledFork, BundlePin>

/**
 * Parses a bundle in its published form, or with `sourceHash` in place of `intent`. Throws DecodeError for any other
 * input, including transactions that match no pin.
 */
export function readUpgradeBundle(
  json: unknown,
  pins: readonly BundlePin[] = Object.values(BUNDLE_PINS),
): UpgradeBundle {
  const transactions = new JsonObjectReader(json, 'upgrade bundle').array('transactions')
  for (const pin of pins) {
    const deposits = transactions.map((tx, index) => depositOf(tx, index, pin.intents))
    if (digestOf(deposits) === pin.digest) return { pin, deposits }
  }
  const known = pins.map(({ fork }) => fork).join(' or ')
  throw new DecodeError(`upgrade bundle: its ${transactions.length} transactions do not match the bundle of ${known}`)
}

/** Finds a bundle among a block's transactions, between other deposits; undefined if there is none. */
export function findUpgradeBundle(
  transactions: readonly Uint8Array[],
  pins: readonly BundlePin[] = Object.values(BUNDLE_PINS),
): UpgradeBundle | undefined {
  const deposits = transactions.filter(isDepositTx).map(decodeDepositTx)
  for (let start = 0; start < deposits.length; start++) {
    let gas = 0n
    for (let end = start; end < deposits.length; end++) {
      gas += deposits[end]?.gas ?? 0n
      const found = deposits.slice(start, end + 1)
      // Computes the hash only if the gas matches.
      const pin = pins.find((each) => each.gas === gas && each.digest === digestOf(found))
      if (pin !== undefined) return { pin, deposits: found }
    }
  }
  return undefined
}

/** The form that `readUpgradeBundle` accepts. The intents are no longer known, so it contains source hashes. */
export function upgradeBundleToJson({ deposits }: UpgradeBundle): unknown {
  return {
    metadata: { version: '1.0.0' },
    transactions: deposits.map(({ sourceHash, from, to, gas, data }) => {
      return { sourceHash, from, to, gasLimit: Number(gas), data: toHex(data) }
    }),
  }
}

const digestOf = (deposits: readonly DepositTx[]): Hex => keccak256Hex(concatBytes(...deposits.map(encodeDepositTx)))

function depositOf(json: unknown, index: number, intents: string): DepositTx {
  const tx = new JsonObjectReader(json, `upgrade bundle.transactions[${index}]`)
  return {
    sourceHash:
      tx.optionalHex('sourceHash', 32) ?? upgradeSourceHash(`${intents} ${index}: ${tx.optionalString('intent')}`),
    from: tx.hex('from', 20),
    to: tx.hex('to', 20),
    mint: 0n,
    value: 0n,
    gas: BigInt(tx.integer('gasLimit')),
    isSystemTx: false,
    data: tx.bytes('data'),
  }
}
