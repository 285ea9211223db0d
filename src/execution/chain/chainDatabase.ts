import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { bigIntToBytes, concatBytes, viewOf } from '../../lib/bytes.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import type { StateStore } from '../state/stateDatabase.ts'

/** One table a leading byte; the keys are hashes unless said otherwise. */
const TABLE = {
  /** Encoded trie nodes. */
  node: 'n',
  code: 'c',
  header: 'h',
  /** RLP list of EIP-2718 encodings. */
  body: 'b',
  receipts: 'r',
  /** u64 number → hash of the canonical block. */
  canonical: 'N',
  /** Transaction hash → block hash ‖ u32 index, canonical blocks only. */
  transaction: 't',
  /** By name: labels and the chain's configuration. */
  meta: 'm',
} as const
type Table = keyof typeof TABLE

export type Label = 'head' | 'safe' | 'finalized' | 'genesis'

export interface TransactionPosition {
  blockHash: Hex
  index: number
}

/** Puts and deletes that become visible together. */
export class DatabaseBatch {
  readonly operations: ({ type: 'put'; key: Uint8Array; value: Uint8Array } | { type: 'del'; key: Uint8Array })[] = []

  put(table: Table, key: Uint8Array, value: Uint8Array): void {
    this.operations.push({ type: 'put', key: keyOf(table, key), value })
  }

  delete(table: Table, key: Uint8Array): void {
    this.operations.push({ type: 'del', key: keyOf(table, key) })
  }

  setCanonical(number: number, hash: Hex): void {
    this.put('canonical', numberKey(number), fromHex(hash, 32))
  }

  removeCanonical(number: number): void {
    this.delete('canonical', numberKey(number))
  }

  setTransaction(hash: Hex, { blockHash, index }: TransactionPosition): void {
    const value = new Uint8Array(36)
    value.set(fromHex(blockHash, 32))
    viewOf(value).setUint32(32, index)
    this.put('transaction', fromHex(hash, 32), value)
  }

  removeTransaction(hash: Hex): void {
    this.delete('transaction', fromHex(hash, 32))
  }

  setLabel(label: Label, hash: Hex): void {
    this.put('meta', textKey(label), fromHex(hash, 32))
  }
}

/**
 * Blocks, receipts, state and labels in one LevelDB. A block's state, body and receipts are written in one atomic batch
 * before it can become head, so that a process killed at any moment finds a whole chain again.
 */
export class ChainDatabase implements StateStore {
  private readonly level: ClassicLevel<Uint8Array, Uint8Array>

  private constructor(level: ClassicLevel<Uint8Array, Uint8Array>) {
    this.level = level
  }

  /** Throws UsageError when another process has it open, or when there is none and `create` is false. */
  static async open(datadir: string, options: { create: boolean }): Promise<ChainDatabase> {
    const path = join(datadir, 'geth', 'chaindata')
    // LevelDB's own complaint about a missing database depends on which of its directories exist, and it makes some.
    if (!options.create && !existsSync(join(path, 'CURRENT'))) {
      throw new UsageError(
        `datadir ${datadir} holds no chain: run "devium-geth init --datadir ${datadir} genesis.json" first`,
      )
    }
    const level = new ClassicLevel<Uint8Array, Uint8Array>(path, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      createIfMissing: options.create,
      cacheSize: 64 * 1024 * 1024,
      writeBufferSize: 16 * 1024 * 1024,
    })
    try {
      await level.open()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
      if (code === 'LEVEL_LOCKED') {
        throw new UsageError(`datadir ${datadir} is in use by another process`, { cause: error })
      }
      throw unreadable(datadir, error)
    }
    return new ChainDatabase(level)
  }

  node(hash: Uint8Array): Uint8Array | undefined {
    return this.get('node', hash)
  }

  code(hash: Uint8Array): Uint8Array | undefined {
    return this.get('code', hash)
  }

  header(hash: Hex): Uint8Array | undefined {
    return this.get('header', fromHex(hash, 32))
  }

  body(hash: Hex): Uint8Array | undefined {
    return this.get('body', fromHex(hash, 32))
  }

  receipts(hash: Hex): Uint8Array | undefined {
    return this.get('receipts', fromHex(hash, 32))
  }

  canonicalHash(number: number): Hex | undefined {
    const value = this.get('canonical', numberKey(number))
    return value === undefined ? undefined : toHex(value)
  }

  transaction(hash: Hex): TransactionPosition | undefined {
    const value = this.get('transaction', fromHex(hash, 32))
    if (value === undefined) return undefined
    return { blockHash: toHex(value.subarray(0, 32)), index: viewOf(value).getUint32(32) }
  }

  label(label: Label): Hex | undefined {
    const value = this.get('meta', textKey(label))
    return value === undefined ? undefined : toHex(value)
  }

  /** The `config` object of genesis.json. */
  chainConfig(): unknown {
    const value = this.get('meta', textKey(CONFIG_KEY))
    return value === undefined ? undefined : JSON.parse(Buffer.from(value).toString())
  }

  setChainConfig(batch: DatabaseBatch, config: unknown): void {
    batch.put('meta', textKey(CONFIG_KEY), new Uint8Array(Buffer.from(JSON.stringify(config))))
  }

  /** Atomic. With `sync` it is on the disk when this resolves; without, it survives the process but not a power cut. */
  async write(batch: DatabaseBatch, options: { sync: boolean }): Promise<void> {
    await this.level.batch(batch.operations, { sync: options.sync })
  }

  close(): Promise<void> {
    return this.level.close()
  }

  private get(table: Table, key: Uint8Array): Uint8Array | undefined {
    return this.level.getSync(keyOf(table, key))
  }
}

/** What an operator is told about a database that LevelDB refuses. */
export function unreadable(datadir: string, error: unknown): UsageError {
  return new UsageError(
    `the chain database in ${datadir} cannot be read: ${describeError(error)}. If it is damaged, move ${join(datadir, 'geth')} away and run "devium-geth init --datadir ${datadir} genesis.json": the rollup node derives the chain anew from L1`,
    { cause: error },
  )
}

const CONFIG_KEY = 'config'

function keyOf(table: Table, key: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(TABLE[table].charCodeAt(0)), key)
}

function numberKey(number: number): Uint8Array {
  return bigIntToBytes(BigInt(number), 8)
}

function textKey(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text))
}
