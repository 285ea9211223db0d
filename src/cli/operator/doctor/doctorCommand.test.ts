import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toHex, toQuantity } from '../../../lib/hex.ts'
import {
  blockHeaderFromJson,
  blockHeaderHash,
  type RollupConfig,
  rollupConfigToJson,
} from '../../../rollup/protocol/index.ts'
import { testConfig } from '../../../rollup/protocol/testUtils/config.ts'
import { textOf } from '../../shared/terminal/styledLine.ts'
import { runCommand } from '../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../deviumCommand.ts'
import { diagnosisLines } from './doctorView.ts'
import { diagnose } from './judge.ts'
import { DAY, healthyFacts, METHODS_UP_TO_KARST, NOW, UP_TO_JOVIAN } from './testUtils/facts.ts'
import { serveBeacon, serveRpc } from './testUtils/servers.ts'

const SECRET = new Uint8Array(32).fill(9)
const KARST = { ...UP_TO_JOVIAN, jovian: 0, karst: 0 }

/** A header with this time, and its hash. */
function blockAt(time: number) {
  const zero = `0x${'00'.repeat(32)}`
  const json = {
    ...{ parentHash: zero, sha3Uncles: zero, miner: `0x${'00'.repeat(20)}`, stateRoot: zero, transactionsRoot: zero },
    ...{ receiptsRoot: zero, logsBloom: `0x${'00'.repeat(256)}`, difficulty: '0x0', number: '0x7', gasLimit: '0x1' },
    ...{ gasUsed: '0x0', timestamp: toQuantity(time), extraData: '0x', mixHash: zero, nonce: '0x0000000000000000' },
    transactions: [],
  }
  return { ...json, hash: blockHeaderHash(blockHeaderFromJson(json)) }
}

/** Serves endpoints, and returns the command line of a node that uses them. */
async function serveNode(config: RollupConfig, { l2 = SECRET, beacon }: { l2?: Uint8Array; beacon?: string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'devium-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const nowS = Math.floor(Date.now() / 1000)
  const l1Block = blockAt(nowS)
  const blocks =
    (genesisHash: string) =>
    ([tag]: unknown[]) => {
      return tag === toQuantity(config.genesis.l1.number) || tag === '0x0'
        ? { ...l1Block, hash: genesisHash, number: tag }
        : l1Block
    }
  const l1 = await serveRpc({ eth_chainId: '0x384', eth_getBlockByNumber: blocks(config.genesis.l1.hash) })
  const engine = await serveRpc(
    {
      ...{ eth_chainId: '0x385', engine_exchangeCapabilities: METHODS_UP_TO_KARST, eth_syncing: false },
      ...{ web3_clientVersion: 'op-reth/v2.9.0', eth_getBlockByNumber: blocks(config.genesis.l2.hash) },
    },
    l2,
  )
  const l1Config = { chainId: 900, cancunTime: 0, blobSchedule: { cancun: { baseFeeUpdateFraction: 3_338_477 } } }
  const { url } = await serveBeacon({ genesisTime: nowS - 120 })
  const args = [
    ...['doctor', '--l1', l1, '--l1.beacon', beacon ?? url, '--l2', engine],
    ...[
      '--l2.jwt-secret',
      file('jwt.txt', toHex(SECRET)),
      '--rollup.config',
      file('rollup.json', JSON.stringify(rollupConfigToJson(config))),
    ],
    ...['--rollup.l1-chain-config', file('l1.json', JSON.stringify(l1Config)), '--p2p.no-discovery'],
  ]
  return { folder, args, nowS }
}

const chain = (unknownForks: RollupConfig['unknownForks'] = []) =>
  testConfig(KARST, {
    unknownForks,
    chainOpConfig: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
  })
const doctor = (args: readonly string[], env: Record<string, string> = {}) => runCommand(createDeviumCommand, args, env)

describe('devium doctor', () => {
  it('accepts the command line of a node, changes nothing, and exits with 0 if the node is ready', async () => {
    const { args, folder } = await serveNode(chain())
    const files = readdirSync(folder)
    const { code, stdout, stderr } = await doctor(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^This node is ready for all forks that this version knows\.\n\nchain {4}901 on L1 900, from rollup config /,
    )
    expect(stdout).toMatch(/\nengine {3}op-reth\/v2\.9\.0 at http:\/\/127\.0\.0\.1:\d+, block 7, \d+ s ago\n/)
    expect(stdout).toMatch(/\nregolith to karst +at genesis +active +✓ +✓\nL1 glamsterdam +- +no date +✓\n$/)
    expect(readdirSync(folder)).toEqual(files)
  })

  it('exits with 3 if a fork will stop the node, and names the time and the remedy', async () => {
    const time = Math.floor(Date.now() / 1000) + 5 * DAY + 60
    const { args } = await serveNode(chain([{ name: 'mars', time }]))
    const { code, stdout } = await doctor(args)
    expect(code).toBe(3)
    expect(stdout).toMatch(/^One problem stops this node: in 5 days\.\n/)
    expect(stdout).toMatch(/\nmars +20\S+ \S+ +in 5 days +✗ +\?\n/)
    expect(stdout).toMatch(
      /\n✗ version, in 5 days: This version does not know the fork mars: .*\n {2}→ Install a devium release that knows mars/,
    )
    const json = await doctor([...args, '--json'])
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{
        ok: false,
        chain: { id: '901', l1: '900', network: null },
        engine: { client: 'op-reth/v2.9.0', problem: null },
      },
      forks: expect.arrayContaining([
        { layer: 'L2', name: 'mars', time, active: false, known: false, ready: { version: 'no', engine: 'unknown' } },
      ]),
      findings: [{ code: 'fork-unknown', subject: 'version', fork: 'mars', stops: time }],
    })
  })

  it('names each endpoint with a problem', async () => {
    const beacon = await serveRpc({ eth_chainId: '0x384', web3_clientVersion: 'Geth/v1.17' })
    const { args } = await serveNode(chain(), { l2: new Uint8Array(32), beacon })
    const { code, stdout } = await doctor([...args, '--l1', 'http://127.0.0.1:1'])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^2 problems stop this node, the first now\.\n/)
    expect(stdout).toMatch(/\n✗ engine, now: The engine at \S+ refuses the JWT secret/)
    expect(stdout).toMatch(
      /\n✗ beacon, now: \S+ is an execution client, not a beacon API: it answers JSON-RPC \(Geth\/v1\.17\)/,
    )
    // The node continues with the other endpoint.
    expect(stdout).toMatch(/\n! L1: The node cannot use the L1 endpoint http:\/\/127\.0\.0\.1:1/)
  })

  it('names a followed node that does not answer', async () => {
    const { args } = await serveNode(chain())
    const { code, stdout } = await doctor([...args, '--l2.follow.source=http://127.0.0.1:1'])
    expect(code).toBe(3)
    expect(stdout).toMatch(/\nfollows {2}http:\/\/127\.0\.0\.1:1: no answer\n/)
    expect(stdout).toMatch(/\n✗ followed node, now: The node cannot follow http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/)
  })

  it('reports a chain on which the node refuses to start', async () => {
    const { args, nowS } = await serveNode(chain())
    const { code, stdout } = await doctor([...args, `--override.lagoon=${nowS + DAY}`])
    expect(code).toBe(3)
    expect(stdout).toMatch(/\n✗ version, now: The node does not start: .*the Lagoon \(interop\) upgrade is scheduled/)
    expect(stdout).toMatch(/\nlagoon +\S+ \S+ +in \d+ h +✗/)
  })

  it('reads environment variables like the node', async () => {
    const { args } = await serveNode(chain())
    const [, , l1 = ''] = args
    const rest = ['doctor', ...args.slice(3)]
    const { code, stdout } = await doctor(rest, { OP_NODE_L1_ETH_RPC: l1, DEVIUM_NODE_OVERRIDE_KRAST: '1' })
    expect(code).toBe(0)
    expect(stdout).toMatch(/\n! flags: The environment variable DEVIUM_NODE_OVERRIDE_KRAST .*OVERRIDE_KARST\.\n/)
  })

  it.each([
    [['doctor'], 'devium: --l2 is required: the address of the Engine API\n'],
    [['doctor', '--l22=http://localhost'], "devium: unknown option '--l22' (Did you mean --l2?)\n"],
    [['doctor', '--l2=http://127.0.0.1:1', '--l2.jwt-secret=x'], /^devium: --network or --rollup\.config is required/],
    [
      ['doctor', '--l2=http://127.0.0.1:1', '--l2.jwt-secret=x', '--network=op-sepolio'],
      /^devium: unknown network "op-sepolio"; the nearest known are op-sepolia/,
    ],
  ])('%j prints one line and exits with 1', async (args, stderr) => {
    const expected = typeof stderr === 'string' ? stderr : expect.stringMatching(stderr)
    expect(await doctor(args)).toEqual({ code: 1, stdout: '', stderr: expected })
  })

  it('fits a terminal of 80 columns', () => {
    const facts = healthyFacts({ ...UP_TO_JOVIAN, jovian: NOW - DAY, karst: NOW + 40 * DAY })
    const soon = { name: 'amsterdam', time: NOW + 20 * DAY }
    const shown = {
      ...facts,
      chain: { ...facts.chain, l1Forks: [soon] },
      engine: { ...facts.engine, client: 'Geth/v1.101603.5-stable/linux-amd64/go1.24.2' },
      flags: { ...facts.flags, trustsL1: true, warnings: ['--heartbeat.url has no effect any more and is ignored'] },
    }
    const linesAt = (width: number) => diagnosisLines(diagnose(shown), shown, width).map(textOf)
    for (const width of [80, 100]) expect(linesAt(width).filter((line) => line.length > width)).toEqual([])
    const lines = linesAt(80)
    expect(lines.length).toBeLessThan(40)
    expect(lines.join('\n')).toContain('L1 glamsterdam')
    // Continuation lines are indented like the text above.
    const index = lines.findIndex((line) => line.startsWith('✗ engine, in 40 days: The engine Geth/v1.101603.5-stable'))
    expect(lines.slice(index + 1, index + 4)).toEqual([
      expect.stringMatching(/^ {2}\S/),
      expect.stringMatching(/^ {2}.*supports karst\.$/),
      '  → Switch to op-reth (2.3.2 or newer) or devium-geth before that time.',
    ])
  })
})
