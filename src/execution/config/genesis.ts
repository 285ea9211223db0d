import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DecodeError, describeError, isErrno, UsageError } from '../../lib/errors.ts'
import { fromHex, type Hex, isHex, normalizeHex, toHex } from '../../lib/hex.ts'
import { isObject } from '../../lib/jsonReader.ts'
import type { Progress, ProgressOptions } from '../../lib/progress.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { writeWhole } from '../../lib/wholeFile.ts'
import {
  decodeExtraData,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  EMPTY_UNCLES_HASH,
  FORKS,
  isForkActive,
  JsonObjectReader,
  MESSAGE_PASSER_ADDRESS,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '../../rollup/protocol/index.ts'
import { ChainDatabase } from '../chain/storage/chainDatabase.ts'
import { DatabaseBatch, tableRange } from '../chain/storage/databaseBatch.ts'
import { decodeHeader, encodeHeader, sealHeader } from '../chain/storage/headerCodec.ts'
import { encodeVersion } from '../chain/storage/stateDisk.ts'
import { slotValue } from '../evm/storageWord.ts'
import type { BlockHeader } from '../primitives/block.ts'
import { NO_STATE, StateDatabase } from '../state/stateDatabase.ts'
import { bytesOfKey, type StateChanges } from '../state/stateKeys.ts'
import { WorldState } from '../state/worldState.ts'
import { encodeStoredReceipts } from '../tx/receiptCodec.ts'
import type { ChainConfig } from './chainConfig.ts'
import { parseChainConfig } from './chainConfig.ts'

/** geth's defaults for missing members of genesis.json (params.GenesisGasLimit, params.InitialBaseFee). */
const DEFAULT_GAS_LIMIT = 4_712_388n
const DEFAULT_BASE_FEE = 1_000_000_000n

export interface Genesis {
  config: ChainConfig
  header: BlockHeader
  state: StateChanges
}

type StartProgress = (options: ProgressOptions) => Pick<Progress, 'advance' | 'end'>

const silently: StartProgress = () => ({ advance() {}, end() {} })

/** Builds the genesis block and its state from a geth genesis file. Throws UsageError with the invalid member. */
export function readGenesis(json: unknown, startProgress = silently): Genesis {
  try {
    const file = new JsonObjectReader(json, 'genesis.json')
    const config = parseChainConfig(file.raw('config'))
    const state = allocate(file.raw('alloc'), startProgress)
    return { config, header: genesisHeader(file, config, state), state: state.changes }
  } catch (error) {
    if (error instanceof DecodeError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

interface Allocation {
  changes: StateChanges
  messagePasserStorageRoot: Hex
}

function allocate(alloc: unknown, startProgress: StartProgress): Allocation {
  const world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
  putAccounts(world, alloc, startProgress)
  // The two passes have different speeds.
  const hashing = startProgress({ what: 'Hashing the genesis state', unit: 'accounts' })
  const changes = world.commit((done, total) => hashing.advance(done, { total }))
  hashing.end()
  return { changes, messagePasserStorageRoot: world.storageRoot(MESSAGE_PASSER_ADDRESS) }
}

/** Puts the accounts of a genesis file's `alloc` into an empty state. */
export function putAccounts(world: WorldState, alloc: unknown, startProgress = silently): void {
  if (!isObject(alloc)) {
    throw new UsageError('genesis.json: alloc: expected an object of accounts')
  }
  const accounts = Object.entries(alloc)
  const reading = startProgress({ what: 'Reading the genesis state', unit: 'accounts' })
  for (const [index, [key, value]] of accounts.entries()) {
    reading.advance(index + 1, { total: accounts.length })
    const path = `genesis.json: alloc.${key}`
    const address = normalizeHex(key.startsWith('0x') ? key : `0x${key}`, 20, path)
    const account = new JsonObjectReader(value, path)
    world.setNonce(address, account.optionalBigint('nonce') ?? 0n)
    world.addBalance(address, account.optionalBigint('balance') ?? 0n)
    if (account.has('code')) world.putCode(address, account.bytes('code'))
    const storage = account.optionalObject('storage')
    if (storage === undefined) continue
    for (const slot of storage.names()) {
      const word = storage.raw(slot)
      const value = slotValue(paddedWord(word, `${path}.storage.${slot}`))
      if (value.length > 0) world.putStorage(address, paddedWord(slot, `${path}.storage`), value)
    }
  }
}

/** Like geth, accepts slots and values without leading zeros. */
function paddedWord(text: unknown, path: string): Hex {
  if (!isHex(text) || text.length > 66) throw new UsageError(`${path}: expected up to 32 bytes of hex with 0x prefix`)
  return `0x${text.slice(2).toLowerCase().padStart(64, '0')}`
}

function genesisHeader(file: JsonObjectReader, config: ChainConfig, state: Allocation): BlockHeader {
  const number = (name: string) => Number(file.optionalBigint(name) ?? 0n)
  const hash = (name: string, bytes: number) => {
    const value = file.raw(name)
    return value === undefined || value === null ? undefined : normalizeHex(value, bytes, file.pathOf(name))
  }
  const timestamp = number('timestamp')
  const extra = file.raw('extraData')
  const header: Omit<BlockHeader, 'hash'> = {
    parentHash: hash('parentHash', 32) ?? ZERO_HASH,
    unclesHash: EMPTY_UNCLES_HASH,
    coinbase: hash('coinbase', 20) ?? ZERO_ADDRESS,
    stateRoot: state.changes.root,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: `0x${'00'.repeat(256)}`,
    difficulty: file.optionalBigint('difficulty') ?? 0n,
    number: number('number'),
    gasLimit: file.optionalBigint('gasLimit') || DEFAULT_GAS_LIMIT,
    gasUsed: file.optionalBigint('gasUsed') ?? 0n,
    timestamp,
    extraData:
      extra === undefined || extra === null
        ? '0x'
        : toHex(fromHex(String(extra), undefined, 'genesis.json: extraData')),
    mixHash: hash('mixHash', 32) ?? ZERO_HASH,
    nonce: `0x${(file.optionalBigint('nonce') ?? 0n).toString(16).padStart(16, '0')}`,
    baseFeePerGas: file.optionalBigint('baseFeePerGas') ?? DEFAULT_BASE_FEE,
  }
  const active = (fork: 'canyon' | 'ecotone' | 'holocene' | 'isthmus' | 'jovian') =>
    isForkActive(config, fork, timestamp)
  if (header.number !== 0) throw new UsageError('genesis.json: number must be 0')
  if (active('canyon')) header.withdrawalsRoot = EMPTY_TRIE_ROOT
  if (active('ecotone')) {
    header.blobGasUsed = file.optionalBigint('blobGasUsed') ?? 0n
    header.excessBlobGas = file.optionalBigint('excessBlobGas') ?? 0n
    header.parentBeaconBlockRoot = hash('parentBeaconBlockRoot', 32) ?? ZERO_HASH
  }
  if (active('isthmus')) {
    header.withdrawalsRoot = state.messagePasserStorageRoot
    header.requestsHash = EMPTY_REQUESTS_HASH
  }
  if (active('holocene')) checkExtraData(header.extraData, active('jovian') ? 'jovian' : 'holocene')
  return sealHeader(header)
}

/** The next block's base fee depends on the extra data. */
function checkExtraData(extraData: Hex, fork: 'holocene' | 'jovian'): void {
  try {
    decodeExtraData(extraData, fork)
  } catch (cause) {
    throw new UsageError(`genesis.json: ${describeError(cause)}`, { cause })
  }
}

/**
 * Writes the genesis block into a data directory. With the same genesis, a second call updates only the fork times.
 * Throws UsageError if the directory has another genesis.
 */
export async function initChain(
  datadir: string,
  json: unknown,
  { startProgress = silently }: { startProgress?: StartProgress } = {},
): Promise<{ hash: Hex; created: boolean }> {
  const genesis = readGenesis(json, startProgress)
  const { header } = genesis
  const database = await ChainDatabase.open(datadir, { create: true })
  try {
    const known = database.label('genesis')
    if (known !== undefined && known !== header.hash) {
      throw new UsageError(
        `datadir ${datadir}: database contains incompatible genesis (have ${known}, new ${header.hash})`,
      )
    }
    if (known !== undefined) checkForkTimes(database, genesis.config)
    await writeWhole(genesisPath(datadir), JSON.stringify(json))
    await writeGenesis(database, genesis, { isNew: known === undefined, startProgress })
    return { hash: header.hash, created: known === undefined }
  } finally {
    await database.close()
  }
}

/** The genesis.json of the data directory. Throws UsageError if there is none. */
export async function readGenesisFile(datadir: string): Promise<string> {
  try {
    return await readFile(genesisPath(datadir), 'utf8')
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    const message = `datadir ${datadir} holds no genesis file: run "devium-geth init --datadir ${datadir} genesis.json" first`
    throw new UsageError(message, { cause: error })
  }
}

/**
 * Stored as a file, because it has ten megabytes if contracts are in the genesis state. LevelDB would read it together
 * with neighbouring entries.
 */
function genesisPath(datadir: string): string {
  return join(datadir, 'geth', 'genesis.json')
}

/**
 * Fork times before the head cannot change: existing blocks were executed by the old rules (geth:
 * ChainConfig.CheckCompatible).
 */
function checkForkTimes(database: ChainDatabase, config: ChainConfig): void {
  const before = parseChainConfig(database.chainConfig())
  const headHash = database.label('head')
  const encoding = headHash === undefined ? undefined : database.header(headHash)
  if (encoding === undefined) return
  const head = decodeHeader(encoding)
  // The genesis block was not executed. Its header shows the active forks.
  if (head.number === 0) return
  for (const fork of FORKS) {
    const [old, next] = [before.forks[fork], config.forks[fork]]
    const first = Math.min(old ?? Number.POSITIVE_INFINITY, next ?? Number.POSITIVE_INFINITY)
    if (old === next || first > head.timestamp) continue
    throw new UsageError(
      `genesis.json: config.${fork}Time cannot change from ${old ?? 'not set'} to ${next ?? 'not set'}: ` +
        `the head, block ${head.number}, already has the timestamp ${head.timestamp}`,
    )
  }
}

/** Entries of one write. Each write waits for the disk. */
const ENTRIES_A_WRITE = 20_000

async function writeGenesis(
  database: ChainDatabase,
  { config, header, state }: Genesis,
  { isNew, startProgress }: { isNew: boolean; startProgress: StartProgress },
): Promise<void> {
  const batch = new DatabaseBatch()
  database.setChainConfig(batch, config.json)
  if (isNew) {
    // The genesis label is written last. Without it, the rest is ignored.
    await writeState(database, state, startProgress)
    const hash = fromHex(header.hash)
    batch.setBase(header.hash)
    batch.putHeader(hash, encodeHeader(header))
    batch.put('body', hash, encodeRlp([]))
    batch.put('receipts', hash, encodeStoredReceipts([]))
    batch.setCanonical(0, header.hash)
    batch.setLabel('genesis', header.hash)
    batch.setLabel('head', header.hash)
    batch.setClosed()
  }
  await database.write(batch, { sync: true })
}

async function writeState(database: ChainDatabase, state: StateChanges, startProgress: StartProgress): Promise<void> {
  // An interrupted init may have left entries of another genesis.
  for (const letter of ['A', 'O', 'a', 'o']) await database.clear(tableRange(letter))
  const total = state.writes.size + state.codes.length
  const progress = startProgress({ what: 'Writing the genesis state', unit: 'entries' })
  let batch = new DatabaseBatch()
  let done = 0
  for (const put of entriesOf(state)) {
    put(batch)
    if (++done % ENTRIES_A_WRITE !== 0) continue
    await database.write(batch, { sync: true })
    batch = new DatabaseBatch()
    progress.advance(done, { total })
  }
  await database.write(batch, { sync: true })
  progress.end()
}

function* entriesOf({ writes, codes }: StateChanges): Generator<(batch: DatabaseBatch) => void> {
  for (const { hash, code } of codes) yield (batch) => batch.put('code', hash, code)
  for (const [key, value] of writes) {
    if (value !== null) yield (batch) => batch.putPlace(bytesOfKey(key), encodeVersion({ value, number: 0 }))
  }
}
