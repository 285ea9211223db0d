import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../../jsonRpc/server.ts'
import { textOf } from '../../shared/terminal/styledLine.ts'
import { runCommand } from '../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../deviumCommand.ts'
import { statusLines, statusTable } from './statusView.ts'

const OWN = '16Uiu2HAmADrpFPMbpbpbaELPYfu7qgWKEPkHqiv3EZVXBseMmDcG'

const ref = (number: number) => ({ hash: `0x${'ab'.repeat(32)}`, number, timestamp: 1_700_000_000 + number })
const NONE = { hash: `0x${'0'.repeat(64)}`, number: 0, timestamp: 0 }
const STATUS = {
  current_l1: ref(9),
  head_l1: ref(10),
  safe_l1: ref(8),
  finalized_l1: NONE,
  unsafe_l2: ref(20),
  safe_l2: ref(15),
  finalized_l2: NONE,
  pending_safe_l2: ref(16),
  queued_unsafe_l2: NONE,
}

const HEALTH = {
  ...{ state: 'healthy', ok: true, sinceMs: 0, text: 'Sequencer is healthy. It sealed block 20.', causes: [] },
  node: { name: 'a', role: 'sequencer', version: 'v9.9.9', chainId: '901', network: 'my-chain', peerID: OWN },
  sequencer: { active: true, conductor: false },
}
const STOPPED = {
  ...HEALTH,
  ...{ state: 'stopped', ok: false, text: 'Sequencer is stopped. An operator has stopped the sequencer.' },
  causes: [
    {
      ...{ code: 'sequencer-stopped', text: 'An operator has stopped the sequencer.', sinceMs: 0 },
      command: 'devium sequencer start',
    },
    { code: 'l1-down', text: 'L1 is down\u001b[2J.', sinceMs: null, command: null },
  ],
}

const devium = (...args: string[]) => runCommand(createDeviumCommand, args)

/** Starts a server with these answers. Returns its URL. */
async function serve(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const methods = new Map(Object.entries(answers).map(([name, answer]): [string, RpcHandler] => [name, () => answer]))
  const server = await serveApp(createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }), '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  return server.url
}

const serveHealthy = () => serve({ devium_health: HEALTH, devium_syncStatus: STATUS, deviump2p_bans: [] })

describe('devium status', () => {
  it('begins with the verdict, and names the node and its heads', async () => {
    const { stdout, code } = await devium('status', '--rpc', await serveHealthy())
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Sequencer is healthy\. It sealed block 20\.\n\nchain {4}901 \(my-chain\)\nrole {5}sequencer\n/,
    )
    expect(stdout).toContain(`\nnode     a\npeer id  ${OWN}\nversion  devium v9.9.9\n`)
    expect(stdout).toMatch(/L2 unsafe\s+20\s+0xabab…abab/)
    expect(stdout).toMatch(/L2 finalized\s+-\s+unknown/)
  })

  it('names causes and remedies of an unhealthy node, and exits with 3', async () => {
    const stopped = await serve({ devium_health: STOPPED, devium_syncStatus: STATUS })
    const { stdout, code } = await devium('status', '--rpc', stopped)
    expect(code).toBe(3)
    expect(stdout).toMatch(
      new RegExp(
        `^Sequencer is stopped. An operator has stopped the sequencer.\n  → devium sequencer start --rpc ${stopped}\nL1 is down\\?\\[2J.\n\n`,
      ),
    )
    const json = await devium('status', '--json', '--rpc', stopped)
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout)).toEqual({ rpc: stopped, health: STOPPED, ...STATUS, peers: null, bans: null })
  })

  it('shows several nodes in one table, with their causes below', async () => {
    const healthy = await serveHealthy()
    const stopped = await serve({ devium_health: STOPPED, devium_syncStatus: STATUS })
    const gone = 'http://127.0.0.1:1'
    const several = await devium('status', '--rpc', `${healthy},${stopped}, ${gone}`)
    expect(several.code).toBe(3)
    expect(several.stdout).toMatch(/^node .*\na +healthy +sequencer +901 +20 +15 +- +- +…\w{8}\n/)
    expect(several.stdout).toMatch(/\na +stopped +sequencer .*\nhttp:\/\/127\.0\.0\.1:1 +no answer +-/)
    expect(several.stdout).toMatch(
      new RegExp(
        `\\n\\na: An operator has stopped the sequencer\\.\\n {2}→ devium sequencer start --rpc ${stopped}\\na: L1 is down\\?\\[2J\\.\\n\\nhttp://127.0.0.1:1: .*\\(connection refused\\)\\n$`,
      ),
    )
    const all = JSON.parse((await devium('status', '--json', '--rpc', `${healthy},${gone}`)).stdout)
    expect(all).toMatchObject([{ health: HEALTH }, { rpc: gone, problem: expect.stringContaining('refused') }])
  })

  it('names the RPC of the sequencer in the command of a cause', () => {
    const [first] = STOPPED.causes
    const waiting = { ...STOPPED, causes: [{ ...first, command: 'devium sequencer status --rpc <the sequencer>' }] }
    const rows = [HEALTH, waiting].map((health, index) => ({
      rpc: `http://${index}`,
      answers: { health, heads: STATUS, peers: undefined },
    }))
    expect(statusTable(rows).map(textOf).at(-1)).toBe('  → devium sequencer status --rpc http://0')
  })

  it('accepts a password in an address, and does not show it', async () => {
    const healthy = await serveHealthy()
    const withPassword = healthy.replace('//', '//user:pass,word@')
    const twice = await devium('status', '--rpc', `${healthy},${withPassword}`)
    expect(twice).toMatchObject({ code: 0, stdout: expect.not.stringContaining('pass') })
    expect((await devium('status', '--rpc', withPassword)).stdout).toMatch(/^Sequencer is healthy/)
  })

  it('shows the heads and peers of a node of another client', async () => {
    const { queued_unsafe_l2: _, ...heads } = STATUS
    const other = await serve({
      optimism_syncStatus: heads,
      optimism_version: 'v1.19.0',
      opp2p_self: { peerID: OWN },
      opp2p_peerStats: { connected: 4, known: 5, banned: 0 },
    })
    const { stdout, code } = await devium('status', '--rpc', other)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^This node is another client .*\n\npeer id +16Uiu2\w+\npeers +4 connected.*\nversion +v1\.19\.0\n/,
    )
    expect(stdout).toMatch(/\nL2 unsafe +20 /)
    const several = await devium('status', '--rpc', `${await serveHealthy()},${other}`)
    expect(several.code).toBe(0)
    expect(several.stdout).toMatch(/\nhttp:\S+ +unknown +- +- +20 +15 +- +4 +…\w{8}\n/)
    const json = JSON.parse((await devium('status', '--json', '--rpc', other)).stdout)
    expect(json).toMatchObject({ health: null, unsafe_l2: { number: 20 }, peers: { connected: 4 } })
  })

  it('queries all nodes of a testnet with --dir', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'devium-testnet-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect(await devium('status', '--dir', folder)).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(
        /^devium: --dir \S+: no testnet runs there \(cannot read its nodes from \S+addresses\.json\)/,
      ),
    })
    const nodes = [{ name: 'sequencer', rollupRpc: await serveHealthy() }]
    writeFileSync(join(folder, 'addresses.json'), JSON.stringify({ nodes }))
    const { stdout, code } = await devium('status', '--dir', folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nsequencer +healthy /)
  })

  it('prints verdict, node, heads and peers with --json', async () => {
    const url = await serveHealthy()
    const { stdout, code } = await devium('status', '--json', '--rpc', url)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ rpc: url, health: HEALTH, ...STATUS, peers: null, bans: [] })
  })
})

describe('statusLines', () => {
  it('names banned peers and queued blocks', () => {
    const reason = 'score -180.62 is below -100: invalid messages'
    const subject = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
    const ban = { subject, kind: 'peer', reason, untilMs: 1_700_003_570_000, remainingS: 3_540 }
    const answers = {
      health: HEALTH,
      heads: { ...STATUS, queued_unsafe_l2: ref(25) },
      peers: { connected: 2, known: 3, banned: 1 },
      bans: [ban],
    }
    const text = statusLines(answers, { nowMs: 1_700_000_030_000 }).map(textOf).join('\n')
    expect(text).toContain('peers    2 connected, 3 known, 1 blocked or banned')
    expect(text).toContain('\nbanned: …6Hyr2Er8 for 59 min more: score -180.62 is below -100: invalid messages\n')
    expect(text).toContain('queued unsafe blocks begin at L2 block 25')
    expect(text).toMatch(/L2 unsafe.*10 s ago/)
  })

  it('fits a terminal, colours the state, and removes control sequences', () => {
    const lines = statusLines({ health: STOPPED, heads: STATUS, peers: undefined }, { width: 40 })
    expect(lines[0]).toEqual([{ text: 'Sequencer is stopped.', style: 'bad' }, ' An operator has'])
    for (const line of lines) expect(textOf(line)).not.toContain('\u001b')
  })
})
