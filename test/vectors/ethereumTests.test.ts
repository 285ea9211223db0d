import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runBlockchainTestFile } from './blockchainTests.ts'
import type { EthereumTestResult } from './ethereumTests.ts'
import { runStateTestFile } from './stateTests.ts'

// Ethereum's own tests, which no package ships: DEVIUM_ETHEREUM_TESTS names a folder with them (ethereum/tests,
// execution-spec-tests), DEVIUM_ETHEREUM_TESTS_ONLY a part of the ids of those that are to run.

const FOLDER = process.env.DEVIUM_ETHEREUM_TESTS ?? ''
const ONLY = process.env.DEVIUM_ETHEREUM_TESTS_ONLY ?? ''

const files = FOLDER !== '' && existsSync(FOLDER) ? testFiles(FOLDER) : []
const isBlockchainTest = (path: string) => /BlockchainTests|blockchain_tests(?!_)/.test(path)

function testFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json') && !path.includes('.meta'))
    .sort()
    .map((path) => join(folder, path))
}

async function expectNoMismatch(
  paths: readonly string[],
  runFile: (path: string, name: string, only: string) => Promise<EthereumTestResult[]>,
): Promise<void> {
  const results: EthereumTestResult[] = []
  for (const path of paths) results.push(...(await runFile(path, relative(FOLDER, path), ONLY)))
  const skipped = new Map<string, number>()
  for (const { skipped: reason } of results) {
    if (reason !== undefined) skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
  }
  const failed = results.filter(({ mismatch }) => mismatch !== undefined)
  const run = results.length - [...skipped.values()].reduce((sum, count) => sum + count, 0)
  console.log(`${run} run, ${failed.length} failed`)
  for (const [reason, count] of skipped) console.log(`${count} skipped: ${reason}`)
  expect(failed).toEqual([])
}

describe.skipIf(files.length === 0)("Ethereum's tests", { timeout: 7_200_000 }, () => {
  it('state tests end with the expected state and logs', async () => {
    const paths = files.filter((path) => /StateTests|state_tests/.test(path) && !isBlockchainTest(path))
    await expectNoMismatch(paths, runStateTestFile)
  })

  it('blockchain tests accept exactly the valid blocks', async () => {
    await expectNoMismatch(files.filter(isBlockchainTest), runBlockchainTestFile)
  })
})
