import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { testConfig } from '../../rollup/protocol/testUtils/config.ts'
import { flagKey } from '../shared/flags.ts'
import { refuseUncheckedMessages } from './chainChecks.ts'
import { p2pFlags } from './p2pFlags.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'
import { type RollupNodeValues, runRollupNode } from './runRollupNode.ts'

const FOLLOW = 'http://supernode'
const LAGOON = { lagoon: 20 }

it.each([
  {
    id: 'that takes messages of no other chain',
    config: testConfig(LAGOON, { dependencySet: [901n] }),
    follow: undefined,
  },
  { id: 'without a dependency set', config: testConfig(LAGOON), follow: undefined },
  { id: 'without Lagoon', config: testConfig({}, { dependencySet: [901n, 902n] }), follow: undefined },
  {
    id: 'of several whose supernode it follows',
    config: testConfig(LAGOON, { dependencySet: [901n, 902n] }),
    follow: FOLLOW,
  },
])('a chain $id is derived', ({ config, follow }) => {
  expect(() => refuseUncheckedMessages(config, follow)).not.toThrow()
})

it('a chain that accepts messages of other chains is refused without --l2.follow.source', () => {
  const config = testConfig(LAGOON, { dependencySet: [901n, 902n, 903n] })
  expect(() => refuseUncheckedMessages(config, undefined)).toThrow(
    errorWith('usage', 901, 902, 903, '--l2.follow.source'),
  )
})

it('the node does not start on such a chain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'devium-interop-'))
  try {
    const path = join(folder, 'set.json')
    writeFileSync(path, '{"dependencies": {"11155420": {}, "1301": {}}}')
    const flags = Object.entries({ ...rollupNodeFlags, ...p2pFlags })
    const defaults = Object.fromEntries(flags.map(([name, flag]) => [flagKey(name), flag.default])) as RollupNodeValues
    const endpoints = { l1: ['http://127.0.0.1:1'], l2: 'http://127.0.0.1:1', l2JwtSecret: join(folder, 'jwt.txt') }
    const chain = { network: 'op-sepolia', overrideLagoon: 1_900_000_000, interopDependencySet: path }
    const context = { signal: AbortSignal.abort(), fail: () => {}, warnings: [], given: new Set<string>() }
    await expect(runRollupNode({ ...defaults, ...endpoints, ...chain, logLevel: 'error' }, context)).rejects.toThrow(
      errorWith('usage', 11155420, 1301, '--l2.follow.source'),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
