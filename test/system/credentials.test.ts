import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createBatchSubmitterCommand } from '../../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { createGethCommand } from '../../src/cli/geth/gethCommand.ts'
import { createRollupNodeCommand } from '../../src/cli/node/rollupNodeCommand.ts'
import { createDeviumCommand } from '../../src/cli/operator/deviumCommand.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { ManagedProcess } from '../../testnet/process/managedProcess.ts'
import { type GuardedEndpoints, SECRETS, startGuardedEndpoints } from '../support/guardedEndpoints.ts'
import { type JoinedNode, joinTestnet } from '../support/joinedNode.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// Every address that a program takes, on a server that requires user and password. Each program must get in by each address, and
// must not show the password.

const bin = (name: string): string => fileURLToPath(new URL(`../../bin/${name}.mjs`, import.meta.url))

/** The server's name for each address. Beacon APIs come in the order of use. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'devium--batcher --l1': 'l1',
  'devium--batcher --l1.beacon': 'beacon',
  'devium--batcher --l1.beacon-fallbacks': 'beacon-fallbacks',
  'devium--batcher --l1.beacon-archiver': 'beacon-archiver',
  'devium--batcher --l2': 'l2',
  'devium--batcher --l2.follow.source': 'follow',
  'devium--batcher --conductor.rpc': 'conductor',
  'devium--batcher --dashboard.batcher': 'dashboard-batcher',
  'devium--batcher --signer.endpoint': 'block-signer',
  'devium-batch-submitter --l1-eth-rpc': 'submitter-l1',
  'devium-batch-submitter --l2-eth-rpc': 'submitter-l2',
  'devium-batch-submitter --rollup-rpc': 'submitter-rollup',
  'devium-batch-submitter --throttle.additional-endpoints': 'builder',
  'devium-batch-submitter --signer.endpoint': 'tx-signer',
  'devium-geth --rollup.sequencerhttp': 'sequencer',
  'devium --rpc': 'rpc',
  'devium --l1': 'decode-l1',
  'devium --l1.beacon': 'decode-beacon',
}
/** Addresses refused with user and password, because the page would show them. */
const REFUSED = ['devium--batcher --dashboard.nodes']

let testnet: RunningTestnet
let guarded: GuardedEndpoints
let joined: JoinedNode
let joinedRpc: RpcClient
const started: ManagedProcess[] = []

function devium(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin('devium'), ...args], { env: { ...process.env, ...env } }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}

/** Flags that take `<url>`, with those of sub-commands. `devium doctor` has the rollup node's flags. */
function declaredAddresses({ options, commands }: Command): string[] {
  const own = options.filter(({ flags }) => /[<=]url/.test(flags))
  const others = commands.filter((command) => command.name() !== 'doctor')
  return [...own.map(({ long }) => long ?? ''), ...others.flatMap(declaredAddresses)]
}

beforeAll(async () => {
  testnet = await startTestnet({ nodes: 1, args: ['--da', 'blobs'] })
  const [node] = testnet.nodes
  if (node === undefined) throw new RangeError('a testnet without nodes')
  const l1 = { backend: testnet.l1.rpc }
  const rollup = { backend: node.rollupRpc }
  const eth = { backend: node.ethRpc }
  const withoutBlobs = {
    ...l1,
    answer(path: string, response: ServerResponse): boolean {
      if (!path.includes('/blob')) return false
      response.writeHead(404).end('{}')
      return true
    },
  }
  const enginePort = { backend: '' }
  guarded = await startGuardedEndpoints({
    ...{ l1, 'l1-ws': l1, 'submitter-l1': l1, 'decode-l1': l1, 'decode-beacon': l1 },
    ...{ beacon: withoutBlobs, 'beacon-fallbacks': withoutBlobs, 'beacon-archiver': l1 },
    l2: enginePort,
    ...{ follow: rollup, conductor: rollup, 'block-signer': rollup, 'tx-signer': rollup, 'submitter-rollup': rollup },
    ...{ rpc: rollup, 'rpc-variable': rollup },
    ...{ sequencer: eth, 'submitter-l2': eth, builder: eth },
    'dashboard-batcher': { backend: testnet.batcher.adminRpc },
    'batcher-variable': { backend: testnet.batcher.adminRpc },
  })
  joined = await joinTestnet(
    {
      ...testnet,
      l1: { ...testnet.l1, rpc: `${guarded.url('l1')},${guarded.url('l1-ws', 'ws')}` },
      nodes: [{ ...node, ethRpc: guarded.url('sequencer') }],
      batcher: { ...testnet.batcher, adminRpc: guarded.url('dashboard-batcher') },
    },
    {
      name: 'guarded',
      staticPeers: [node.p2p],
      flags: [
        `--l1.beacon=${guarded.url('beacon')}`,
        `--l1.beacon-fallbacks=${guarded.url('beacon-fallbacks')}`,
        `--l1.beacon-archiver=${guarded.url('beacon-archiver')}`,
        `--l2=${guarded.url('l2')}`,
      ],
    },
  )
  enginePort.backend = `http://127.0.0.1:${joined.options.ports.engineRpc}`
  joinedRpc = createPatientClient({ url: joined.rollupRpc })
})
afterAll(async () => {
  await Promise.all(started.map((program) => program.stop('SIGTERM', 10_000)))
  await joined?.stop()
  await joinedRpc?.close()
  await testnet?.stop()
  await guarded?.close()
})

it('the table contains each address that a program declares', () => {
  const programs = [
    createRollupNodeCommand(),
    createBatchSubmitterCommand(),
    createGethCommand(),
    createDeviumCommand(),
  ]
  const declared = programs.flatMap((program) => declaredAddresses(program).map((flag) => `${program.name()} ${flag}`))
  expect([...new Set(declared)].sort()).toEqual([...Object.keys(ADDRESSES), ...REFUSED].sort())
})

it('every program authenticates at every address, and never shows the password', async () => {
  // It has derived a block whose batch is in a blob that only the archive has.
  await expect
    .poll(() => joinedRpc.request('optimism_syncStatus', []).catch(() => undefined))
    .toMatchObject({ safe_l2: { number: expect.toSatisfy((number: number) => number > 0) } })
  const shown = [
    JSON.stringify(await joinedRpc.request('devium_batcherStatus', [])),
    JSON.stringify(await joinedRpc.request('devium_derivationStatus', [])),
    await (await fetch(`${joined.rollupRpc}/dashboard/nodes.json`)).text(),
    await (await fetch(`http://127.0.0.1:${joined.options.ports.metrics}/metrics`)).text(),
  ]
  await sendTransaction()

  await joined.node.stop('SIGTERM', 10_000)
  const start = (name: string, program: string, args: readonly string[]): void => {
    const logPath = join(testnet.dir, 'logs', `${name}.log`)
    started.push(ManagedProcess.start({ name, command: { script: bin(program) }, args, logPath }))
  }
  const signer = (name: string) => [
    `--signer.endpoint=${guarded.url(name)}`,
    `--signer.address=0x${'11'.repeat(20)}`,
    '--signer.tls.enabled=false',
  ]
  start('guarded-sequencer', 'devium--batcher', [
    ...joined.node.spec.args,
    `--l2.follow.source=${guarded.url('follow')}`,
    ...['--sequencer.enabled', '--conductor.enabled', `--conductor.rpc=${guarded.url('conductor')}`],
    ...signer('block-signer'),
  ])
  start('guarded-submitter', 'devium-batch-submitter', [
    `--l1-eth-rpc=${guarded.url('submitter-l1')}`,
    `--l2-eth-rpc=${guarded.url('submitter-l2')}`,
    `--rollup-rpc=${guarded.url('submitter-rollup')}`,
    `--throttle.additional-endpoints=${guarded.url('builder')}`,
    ...signer('tx-signer'),
    ...['--poll-interval=500ms', '--rpc.port=0', '--metrics.enabled', '--metrics.port=0'],
  ])
  await expect.poll(() => joinedRpc.request('devium_syncStatus', []).catch(() => undefined)).toBeDefined()
  // The fake conductor is queried before the start.
  shown.push(await devium(['sequencer', 'start', '--rpc', joined.rollupRpc]))
  shown.push(JSON.stringify(await joinedRpc.request('devium_derivationStatus', [])))

  const blobTx = await blobTransaction()
  shown.push(
    await devium(['status', '--rpc', guarded.url('rpc')]),
    await devium(['p2p', 'check', '/ip4/127.0.0.1/tcp/1', '--rpc', guarded.url('rpc')]),
    await devium(['status'], { DEVIUM_RPC: guarded.url('rpc-variable') }),
    await devium(['status', '--help'], { DEVIUM_RPC: guarded.url('rpc-variable') }),
    await devium(['batcher', 'status'], { DEVIUM_BATCHER_RPC: guarded.url('batcher-variable') }),
    await devium(['decode', blobTx, '--l1', guarded.url('decode-l1'), '--l1.beacon', guarded.url('decode-beacon')]),
    await devium(['doctor', ...joined.node.spec.args]),
    // Addresses without a server, and invalid ones.
    await devium(['doctor', ...joined.node.spec.args, `--l2=${guarded.url('l2').replace(/:\d+\/l2$/, ':1')}`]),
    await devium(['status', '--rpc', guarded.url('rpc').replace(/:\d+\/rpc$/, ':1')]),
    await devium(['p2p', 'check', '/ip4/127.0.0.1/tcp/1', '--rpc', guarded.url('rpc').replace(/:\d+\/rpc$/, ':1')]),
    await devium(['status', '--rpc', guarded.url('rpc', 'ws')]),
  )

  const names = [...Object.values(ADDRESSES), 'l1-ws', 'rpc-variable', 'batcher-variable'].sort()
  await expect.poll(() => names.filter((name) => !guarded.entered.has(name))).toEqual([])
  expect(guarded.refused).toEqual([])
  for (const program of [joined.geth, joined.node, ...started]) shown.push(readFileSync(program.spec.logPath, 'utf8'))
  for (const secret of SECRETS) expect(shown.filter((text) => text.includes(secret))).toEqual([])
})

/** A blob transaction of the batch submitter. */
async function blobTransaction(): Promise<string> {
  const l1 = createPatientClient({ url: testnet.l1.rpc })
  try {
    for (let number = 1; ; number++) {
      const block = (await l1.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as {
        transactions: { type: string; hash: string }[]
      }
      const found = block.transactions.find(({ type }) => type === '0x3')
      if (found !== undefined) return found.hash
    }
  } finally {
    await l1.close()
  }
}

/** Sends a transaction to the joined execution client, which forwards it. */
async function sendTransaction(): Promise<void> {
  const eth = createPatientClient({ url: joined.ethRpc })
  const account = privateKeyToAccount(testnet.accounts[0]?.privateKey ?? '0x')
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 6n }
  const transaction = { chainId: testnet.l2.chainId, to: account.address, gas: 21_000n, nonce: 0, ...fees }
  await eth.request('eth_sendRawTransaction', [await account.signTransaction(transaction)])
  await eth.close()
}
