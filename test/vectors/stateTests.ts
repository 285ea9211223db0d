import { readFileSync } from 'node:fs'
import { executeSigned } from '../../src/execution/block/executeTransaction.ts'
import { ChainError } from '../../src/execution/errors.ts'
import type { SignedTransaction } from '../../src/execution/primitives/block.ts'
import { createMemoryBlock } from '../../src/execution/testUtils/memoryBlock.ts'
import { DecodeError, describeError } from '../../src/lib/errors.ts'
import { keccak256Hex } from '../../src/lib/hash.ts'
import { fromHex, type Hex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { BASE_FEE_VAULT_ADDRESS } from '../../src/rollup/protocol/constants.ts'
import { decodeSignedTransaction, L1_BLOCK_ADDRESS } from '../../src/rollup/protocol/index.ts'
import type { Fork } from '../../src/rollup/protocol/types.ts'
import { type EthereumAccount, type EthereumTestResult, toMemoryAccount } from './ethereumTests.ts'

// State tests in the form of ethereum/tests and execution-spec-tests: one transaction on a state, the state's root and the
// logs' hash after it.

interface StateTest {
  env: Record<string, Hex>
  pre: Record<Hex, EthereumAccount>
  post: Record<string, { hash: Hex; logs: Hex; txbytes?: Hex; expectException?: string }[]>
  config?: { chainid?: Hex }
}

/** The OP fork whose EVM is that of Ethereum's fork. Older ones no OP chain of today has. */
const FORKS: Record<string, Fork> = {
  Paris: 'regolith',
  Shanghai: 'canyon',
  Cancun: 'ecotone',
  Prague: 'isthmus',
  Osaka: 'karst',
}

/** By a part of the path. */
const SKIPPED = [
  ['EOF: in no fork', '/stEOF/'],
  ['EIP-2537 before its addresses and prices were final', '/stEIP2537/'],
  ['P256VERIFY before Osaka: OP chains have it since Fjord', '/p256verify_before_fork/'],
] as const

const MAX_GAS = BigInt(Number.MAX_SAFE_INTEGER)

/** OP's fees are none here, and what goes to the base fee vault is burnt on Ethereum. */
const NO_FEES = { l1DataFee: () => 0n, operatorFee: () => 0n }

/** Runs all tests of a file; those of `only`, if given, have it in their id. */
export async function runStateTestFile(path: string, name: string, only = ''): Promise<EthereumTestResult[]> {
  const results: EthereumTestResult[] = []
  const file = JSON.parse(readFileSync(path, 'utf8')) as Record<string, StateTest>
  for (const [test, content] of Object.entries(file)) {
    for (const [fork, posts] of Object.entries(content.post ?? {})) {
      for (const [index, post] of posts.entries()) {
        const id = `${name} ${test} ${fork} ${index}`
        if (!id.includes(only)) continue
        results.push({ id, ...(await runOne(name, content, fork, post)) })
      }
    }
  }
  return results
}

async function runOne(
  name: string,
  test: StateTest,
  ethereumFork: string,
  { hash, logs, txbytes, expectException }: StateTest['post'][string][number],
): Promise<Omit<EthereumTestResult, 'id'>> {
  const fork = FORKS[ethereumFork]
  if (fork === undefined) return { skipped: `${ethereumFork}: no OP chain has its EVM` }
  if (txbytes === undefined) return { skipped: 'no signed transaction' }
  if (txbytes.startsWith('0x03') && expectException === undefined) return { skipped: 'blob transaction' }
  const [reason] = SKIPPED.find(([, part]) => name.includes(part)) ?? []
  if (reason !== undefined) return { skipped: reason }
  const tx = decode(fromHex(txbytes))
  if (typeof tx !== 'string' && tx.gasLimit > MAX_GAS) return { skipped: 'more gas than 2^53: no OP block has as much' }
  const { execution, world } = createMemoryBlock({
    fork,
    chainId: BigInt(test.config?.chainid ?? 1),
    accounts: Object.fromEntries(
      Object.entries(test.pre).map(([address, account]) => [address, toMemoryAccount(account)]),
    ),
    block: blockOf(test.env),
  })
  if (test.pre[L1_BLOCK_ADDRESS] === undefined) world.deleteAccount(L1_BLOCK_ADDRESS)
  world.endTransaction()
  // So that accounts have their storage roots (EIP-7610).
  world.commit()
  const { env } = execution
  let outcome: Awaited<ReturnType<typeof executeSigned>> | undefined
  let refusal: string | undefined
  try {
    if (typeof tx === 'string') throw new ChainError('invalid-transaction', tx)
    if (tx.gasLimit > env.block.gasLimit) throw new ChainError('invalid-transaction', 'gas limit reached')
    outcome = await executeSigned(env, tx, NO_FEES)
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    refusal = describeError(error)
  }
  if ((refusal !== undefined) !== (expectException !== undefined)) {
    return { mismatch: `refused: ${refusal ?? 'no'}, expected: ${expectException ?? 'no'}` }
  }
  if (test.pre[BASE_FEE_VAULT_ADDRESS] === undefined) world.deleteAccount(BASE_FEE_VAULT_ADDRESS)
  const { root } = world.commit()
  if (root !== hash) {
    const how = outcome === undefined ? refusal : `gas ${outcome.gasUsed}, ${outcome.failure ?? 'succeeded'}`
    return { mismatch: `state root ${root}, expected ${hash} (${how})` }
  }
  const logsHash = keccak256Hex(
    encodeRlp(
      (outcome?.logs ?? []).map((log) => [fromHex(log.address), log.topics.map((topic) => fromHex(topic)), log.data]),
    ),
  )
  return logsHash === logs ? {} : { mismatch: `hash of logs ${logsHash}, expected ${logs}` }
}

/** The transaction, or what is wrong with its bytes. */
function decode(raw: Uint8Array): SignedTransaction | string {
  try {
    return decodeSignedTransaction(raw)
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
}

function blockOf(env: StateTest['env']) {
  const {
    currentNumber = '0x1',
    currentTimestamp = '0x1',
    currentCoinbase = '0x',
    currentRandom = '0x',
    currentGasLimit = '0x0',
    currentBaseFee = '0x0',
  } = env
  return {
    number: Number(currentNumber),
    timestamp: Number(currentTimestamp),
    coinbase: currentCoinbase,
    prevRandao: currentRandom,
    gasLimit: BigInt(currentGasLimit),
    baseFee: BigInt(currentBaseFee),
  }
}
