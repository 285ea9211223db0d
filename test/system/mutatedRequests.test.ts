import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ownFaults, sendMutated, targetsOf } from '../support/mutatedRequests/run.ts'
import { startTestnet } from '../support/testnet.ts'

// Random requests may stop the sequencer, move the engine's head and leave traces in the logs, so the testnet serves this test alone.
it('every port answers random and mutated requests, bodies and frames correctly (bench/mutatedRequests.ts sends more)', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'devium-mutated-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const testnet = await startTestnet({ nodes: 1, dir })
  onTestFinished(async () => void (await testnet.stop()))
  const targets = await targetsOf(testnet)
  expect(targets).toHaveLength(6)
  expect(await sendMutated(targets, 250, 20_261_123)).toEqual([])
  expect(ownFaults(testnet)).toEqual([])
  expect(testnet.events.filter(({ event }) => event === 'warning')).toEqual([])
  expect(testnet.runner.exitCode).toBeNull()
})
