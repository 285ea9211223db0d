import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runStateTestFile, type StateTestResult } from './stateTests.ts'

// Ethereum's own tests of the state transition, which no package ships: DEVIUM_ETHEREUM_TESTS names a folder with them
// (ethereum/tests, execution-spec-tests), DEVIUM_ETHEREUM_TESTS_ONLY a part of the ids of those that are to run.

const FOLDER = process.env.DEVIUM_ETHEREUM_TESTS ?? ''
const ONLY = process.env.DEVIUM_ETHEREUM_TESTS_ONLY ?? ''

const files = FOLDER !== '' && existsSync(FOLDER) ? stateTestFiles(FOLDER) : []

function stateTestFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json') && /GeneralStateTests|StateTests|state_tests/.test(path))
    .filter((path) => !path.includes('BlockchainTests') && !path.includes('.meta'))
    .sort()
    .map((path) => join(folder, path))
}

describe('state tests of Ethereum', () => {
  it.skipIf(files.length === 0)(
    'end with the state and the logs they should',
    async () => {
      const results: StateTestResult[] = []
      for (const file of files) results.push(...(await runStateTestFile(file, relative(FOLDER, file), ONLY)))
      const skipped = new Map<string, number>()
      for (const { skipped: reason } of results) {
        if (reason !== undefined) skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
      }
      const failed = results.filter(({ mismatch }) => mismatch !== undefined)
      const run = results.length - [...skipped.values()].reduce((sum, count) => sum + count, 0)
      console.log(`${run} run, ${failed.length} failed`)
      for (const [reason, count] of skipped) console.log(`${count} skipped: ${reason}`)
      expect(failed).toEqual([])
    },
    3_600_000,
  )
})
