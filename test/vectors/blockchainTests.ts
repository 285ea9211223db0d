import { readFileSync } from 'node:fs'
import { BlockImporter } from '../../src/execution/chain/blockImporter.ts'
import { envelopeOfBlock } from '../../src/execution/chain/storage/blockFile.ts'
import { decodeHeader } from '../../src/execution/chain/storage/headerCodec.ts'
import type { ChainConfig } from '../../src/execution/config/chainConfig.ts'
import type { BlockHeader } from '../../src/execution/primitives/block.ts'
import type { DiskLayer } from '../../src/execution/state/diskLayer.ts'
import { LayerTree } from '../../src/execution/state/layerTree.ts'
import { NO_STATE, StateDatabase } from '../../src/execution/state/stateDatabase.ts'
import type { StateChanges } from '../../src/execution/state/stateKeys.ts'
import { WorldState } from '../../src/execution/state/worldState.ts'
import { allocate } from '../../src/execution/testUtils/memoryBlock.ts'
import { DecodeError, describeError } from '../../src/lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../src/lib/rlp.ts'
import { BASE_FEE_VAULT_ADDRESS, EMPTY_TRIE_ROOT } from '../../src/rollup/protocol/constants.ts'
import { ZERO_HASH } from '../../src/rollup/protocol/types.ts'
import { type EthereumAccount, type EthereumTestResult, toMemoryAccount } from './ethereumTests.ts'

// Blockchain tests in the form of ethereum/tests and execution-spec-tests: blocks that are imported one after the other, of
// which those that say so must be refused.

interface BlockchainTest {
  network: string
  pre: Record<Hex, EthereumAccount>
  genesisRLP: Hex
  genesisBlockHeader: TestHeader
  blocks: {
    rlp: Hex
    expectException?: string
    blockHeader?: TestHeader
    transactions?: { gasLimit?: Hex }[]
    withdrawals?: unknown[]
  }[]
  lastblockhash: Hex
}

interface TestHeader {
  timestamp: Hex
  blobGasUsed?: Hex
  excessBlobGas?: Hex
}

/** The OP forks whose rules for blocks are those of Ethereum's. Later ones have fees' parameters in a block's extraData. */
const FORKS: Record<string, ChainConfig['forks']> = {
  Paris: { regolith: 0 },
  Shanghai: { canyon: 0 },
  Cancun: { ecotone: 0 },
  ShanghaiToCancunAtTime15k: { canyon: 0, ecotone: 15_000 },
}

/** Ethereum's, EIP-1559. */
const FEES = { eip1559Elasticity: 2n, eip1559Denominator: 8n, eip1559DenominatorCanyon: 8n }

/** Runs all tests of a file; those of `only`, if given, have it in their id. */
export async function runBlockchainTestFile(path: string, name: string, only = ''): Promise<EthereumTestResult[]> {
  const results: EthereumTestResult[] = []
  const file = JSON.parse(readFileSync(path, 'utf8')) as Record<string, BlockchainTest>
  for (const [test, content] of Object.entries(file)) {
    const id = `${name} ${test}`
    if (id.includes(only)) results.push({ id, ...(await runOne(content)) })
  }
  return results
}

async function runOne(test: BlockchainTest): Promise<Omit<EthereumTestResult, 'id'>> {
  const forks = FORKS[test.network]
  if (forks === undefined) return { skipped: `${test.network}: no OP chain has its rules for blocks` }
  const reason = whySkipped(test)
  if (reason !== undefined) return { skipped: reason }
  const chain = new TestChain({ chainId: 1n, forks, ...FEES, json: {} }, test)
  if (chain.genesisRoot !== chain.genesis.stateRoot)
    return { mismatch: `state root of the genesis: ${chain.genesisRoot}` }
  for (const [index, { rlp, expectException }] of test.blocks.entries()) {
    const refusal = await chain.import(fromHex(rlp))
    if ((refusal === undefined) !== (expectException === undefined)) {
      return { mismatch: `block ${index} refused: ${refusal ?? 'no'}, expected: ${expectException ?? 'no'}` }
    }
  }
  return chain.has(test.lastblockhash) ? {} : { mismatch: `${test.lastblockhash} is not among the blocks` }
}

/** What an Ethereum block may have or must not, and an OP block is free of. */
function whySkipped({ blocks, genesisBlockHeader }: BlockchainTest): string | undefined {
  for (const { expectException, blockHeader, transactions = [], withdrawals = [] } of blocks) {
    // It depends on the blobs before the block, which were many only if the genesis block says so.
    if (expectException === 'BlockException.INCORRECT_EXCESS_BLOB_GAS' && hasBlobs(genesisBlockHeader)) return BLOBS
    if (expectException === 'BlockException.INVALID_GASLIMIT')
      return 'the gas limit of OP blocks follows L1, not its parent'
    if (expectException !== undefined) continue
    if (withdrawals.length > 0) return 'withdrawals: none on OP chains'
    if (blockHeader !== undefined && hasBlobs(blockHeader)) return BLOBS
    if (blockHeader !== undefined && isHuge(blockHeader.timestamp)) return 'a time past 2^53: no OP block has it'
    if (transactions.some(({ gasLimit = '0x0' }) => isHuge(gasLimit)))
      return 'more gas than 2^53: no OP block has as much'
  }
  return undefined
}

const BLOBS = 'blobs: none on OP chains'

function hasBlobs({ blobGasUsed = '0x0', excessBlobGas = '0x0' }: TestHeader): boolean {
  return BigInt(blobGasUsed) + BigInt(excessBlobGas) > 0n
}

function isHuge(value: Hex): boolean {
  return BigInt(value) > Number.MAX_SAFE_INTEGER
}

/** On Ethereum the base fee is burnt. */
class BurningWorld extends WorldState {
  override addBalance(address: Hex, amount: bigint): void {
    if (address !== BASE_FEE_VAULT_ADDRESS) super.addBalance(address, amount)
  }
}

const EMPTY_DISK: DiskLayer = {
  version: () => undefined,
  replaced: () => ({ value: null, number: 0 }),
  begin: () => Promise.reject(new Error('nothing is written')),
  undo: () => Promise.reject(new Error('nothing was written')),
}

/** Blocks and states in memory behind the importer of payloads. */
class TestChain {
  readonly genesis: BlockHeader
  readonly genesisRoot: Hex
  private readonly headers = new Map<Hex, BlockHeader>()
  /** Its base is empty: all states are layers. Keys that no block wrote count as of block 0, so the base has that number. */
  private readonly tree = new LayerTree(EMPTY_DISK, { number: 0, hash: ZERO_HASH })
  private readonly codes = new Map<Hex, Uint8Array>()
  private readonly database: StateDatabase
  private readonly importer: BlockImporter

  constructor(config: ChainConfig, { pre, genesisRLP }: BlockchainTest) {
    this.database = new StateDatabase({
      store: {
        code: (hash) => this.codes.get(toHex(hash)),
      },
    })
    const [header] = rlpList(decodeRlp(fromHex(genesisRLP)), 'genesis block')
    this.genesis = decodeHeader(encodeRlp(rlpList(header, 'genesis header')))
    this.headers.set(this.genesis.hash, this.genesis)
    const world = new BurningWorld(this.database.at(NO_STATE), EMPTY_TRIE_ROOT)
    for (const [address, account] of Object.entries(pre)) allocate(world, address as Hex, toMemoryAccount(account))
    world.endTransaction()
    this.genesisRoot = this.keep({ ...this.genesis, parentHash: ZERO_HASH }, world.commit())
    // Without a canonical chain ancestors are found by their children.
    const ancestry = {
      header: (hash: Hex) => this.headers.get(hash),
      canonicalHeader: () => undefined,
      isCanonical: () => false,
    }
    this.importer = new BlockImporter({
      blocks: {
        header: (hash) => this.headers.get(hash),
        write: async ({ header }, _, { codes }) => {
          this.headers.set(header.hash, header)
          for (const { hash, code } of codes) this.codes.set(toHex(hash), code)
        },
      },
      pruner: {
        nodesToWrite: () => [],
        add: (header, { writes }) => this.tree.add(header, header.parentHash, writes, 0),
      },
      head: () => this.genesis,
      evm: { config, ancestry },
      worldAt: ({ hash, stateRoot }) => new BurningWorld(this.database.at(this.tree.at(hash) ?? NO_STATE), stateRoot),
      ensureState: async () => true,
      logger: silentLogger,
    })
  }

  has(hash: Hex): boolean {
    return this.headers.has(hash)
  }

  /** Why the block was refused, if it was. */
  async import(rlp: Uint8Array): Promise<string | undefined> {
    try {
      const result = await this.importer.importPayload(envelopeOfBlock(rlp))
      return result.status === 'INVALID'
        ? result.validationError
        : result.status === 'VALID'
          ? undefined
          : result.status
    } catch (error) {
      if (error instanceof DecodeError) return describeError(error)
      throw error
    }
  }

  private keep(
    { hash, number, parentHash }: Pick<BlockHeader, 'hash' | 'number' | 'parentHash'>,
    { root, writes, codes }: StateChanges,
  ): Hex {
    this.tree.add({ hash, number }, parentHash, writes, 0)
    for (const { hash, code } of codes) this.codes.set(toHex(hash), code)
    return root
  }
}
