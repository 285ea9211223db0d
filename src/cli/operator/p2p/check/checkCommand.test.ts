import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createRpcApp, serveApp } from '../../../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../../../jsonRpc/server.ts'
import { fromHex } from '../../../../lib/hex.ts'
import { listen } from '../../../../lib/testUtils/listen.ts'
import { identityFromRawKey } from '../../../../p2p/host/identity.ts'
import { startTestNode } from '../../../../p2p/testUtils/testNode.ts'
import { runCommand } from '../../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../../deviumCommand.ts'

const SCRIPT = fileURLToPath(new URL('../../../../../bin/devium.mjs', import.meta.url))
const KEY = randomBytes(32).toString('hex')
/** Nothing listens at this address. */
const NO_NODE = 'http://127.0.0.1:1'

const peer = await startTestNode()
/** The address of the same peer with a closed port. */
const closedPort = peer.address.replace(/\/tcp\/\d+/, '/tcp/1')
const folder = mkdtempSync(join(tmpdir(), 'devium-check-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await peer.node.stop()
})

/** The methods of a rollup node that the check calls. */
async function startOwnNode(
  namespace: 'deviump2p' | 'opp2p',
  bannedSubnets: unknown,
  peers: object = {},
  banned: readonly string[] = [],
): Promise<string> {
  const bans = banned.map((subject) => ({ subject, kind: 'peer', reason: 'a score', untilMs: 0, remainingS: 60 }))
  const answers: [string, unknown][] = [
    [`${namespace}_self`, { peerID: 'us' }],
    [`${namespace}_peers`, { peers, bannedPeers: banned, bannedIPS: null, bannedSubnets }],
    [`${namespace}_listBlockedPeers`, []],
    ['deviump2p_bans', bans],
    ['deviump2p_peerHistory', []],
    ['optimism_rollupConfig', { l2_chain_id: 901 }],
    ['optimism_syncStatus', { safe_l2: { number: 4 }, unsafe_l2: { number: 5 } }],
  ]
  const methods = new Map(answers.map(([name, result]): [string, RpcHandler] => [name, () => result]))
  const server = await serveApp(createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }), '127.0.0.1', 0, 'test')
  afterAll(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

const check = (...args: string[]) => runCommand(createDeviumCommand, ['p2p', 'check', ...args])

describe('devium p2p check', () => {
  it('prints its steps and a verdict, and exits with 0', async () => {
    const { code, stdout, stderr } = await check(peer.address, '--rpc', await startOwnNode('deviump2p', []))
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^✓ address {5}16Uiu2/)
    expect(stdout).toContain('✓ own node    neither blocked nor banned, not connected')
    expect(stdout).toContain('✓ topics      blocks v1 v2 v3 v4 of chain 901')
    expect(stdout).toContain('but not block 4')
    expect(stdout).toMatch(/\n\n✓ reachable: optimism, chain 901; warnings: blocks\n$/)
    expect(code).toBe(0)
  })

  it('accepts answers of op-node', async () => {
    const rpc = await startOwnNode('opp2p', [{ IP: '127.0.0.0', Mask: '/wAAAA==' }])
    const { code, stdout } = await check(closedPort, '--rpc', rpc)
    expect(stdout).toContain('✗ own node    our node refuses it: the subnet 127.0.0.0/8')
    expect(code).toBe(1)
  })

  it('distinguishes a ban from a block', async () => {
    const rpc = await startOwnNode('deviump2p', [], {}, [peer.node.peerId])
    const { stdout } = await check(closedPort, '--rpc', rpc)
    expect(stdout).toMatch(/✗ own node {4}our node refuses it: the peer is banned until/)
  })

  it('accepts a part of a peer id', async () => {
    const record = { peerID: peer.node.peerId, direction: 1, ENR: '', addresses: [peer.address] }
    const rpc = await startOwnNode('deviump2p', [], { [peer.node.peerId]: record })
    const { code, stdout } = await check(`…${peer.node.peerId.slice(-8)}`, '--rpc', rpc)
    expect(stdout).toContain(`Known to the node at ${peer.address}\n`)
    expect(stdout).toContain('✓ own node    connected: it dialled us from /ip4/127.0.0.1/tcp/')
    expect(code).toBe(0)
    expect((await check('16Uiu2nobody', '--rpc', rpc)).stderr).toContain('no known peer')
    expect((await check(peer.node.peerId, '--rpc', NO_NODE)).stdout).toContain('a peer id alone')
  })

  it('prints JSON, uses the given chain, and exits with 1', async () => {
    const { code, stdout } = await check(peer.address, '--rpc', NO_NODE, '--network', 'op-mainnet', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      failedAt: 'topics',
      expectedChainId: '10',
      peerId: peer.node.peerId,
    })
    expect(code).toBe(1)
  })

  it('dials with the key of --identity', async () => {
    const path = join(folder, 'key.txt')
    writeFileSync(path, KEY)
    await peer.node.blockPeer(identityFromRawKey(fromHex(KEY)).peerId.toString())
    const { stdout } = await check(peer.address, '--rpc', NO_NODE, '--identity', path)
    expect(stdout).toContain('– own node    no node answers at --rpc http://127.0.0.1:1')
    expect(stdout).toMatch(/✗ failed at (connection|muxer): /)
  })

  it.each([
    [['--chain-id', 'ten'], '--chain-id: expected a whole number, got "ten"'],
    [['--block', '-1'], '--block: expected a whole number, got "-1"'],
    [['--timeout', 'soon'], '--timeout: '],
    [['--chain-id', '10', '--network', 'op-mainnet'], '--chain-id and --network exclude each other'],
    [['--network', 'nowhere'], 'unknown network "nowhere"'],
    [['--identity', '/nonexistent/key'], '--identity: cannot read /nonexistent/key'],
  ])('refuses %s', async (args, message) => {
    expect((await check(peer.address, ...args)).stderr).toContain(message)
  })

  it('prints a refusal in one line and exits with 1', async () => {
    const { code, stderr } = await check(peer.address, '--network', 'nowhere')
    expect(stderr).toMatch(/^devium: unknown network "nowhere"[^\n]*\n$/)
    expect(code).toBe(1)
  })

  it('stops at once with Ctrl-C', async () => {
    const server = createServer((socket) => socket.on('error', () => {}))
    const { port, close } = await listen(server)
    afterAll(close)
    const child = spawn(process.execPath, [SCRIPT, 'p2p', 'check', `/ip4/127.0.0.1/tcp/${port}`, '--rpc', NO_NODE])
    const ended = once(child, 'exit')
    await once(server, 'connection')
    child.kill('SIGINT')
    expect(await ended).toEqual([null, 'SIGINT'])
  })
})
