import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createBatchSubmitterCommand } from '../src/cli/batchSubmitter/batchSubmitterCommand.ts'
import { createGethCommand } from '../src/cli/geth/gethCommand.ts'
import { createRollupNodeCommand } from '../src/cli/node/rollupNodeCommand.ts'
import { problemOf } from './support/commandLines.ts'
import { type Container, type Manifest, readCompose, readManifests, type Workload } from './support/deployment.ts'
import { OP_CONDUCTOR_FLAGS } from './support/opConductorFlags.ts'

const ROOT = resolve(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'docs/deploy')
const PROGRAMS: Readonly<Record<string, () => Command>> = {
  'devium--batcher': createRollupNodeCommand,
  'devium-batch-submitter': createBatchSubmitterCommand,
  'devium-geth': createGethCommand,
}
const HEALTHY = 'HEALTH_URL'

const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8')
const dockerfile = readFileSync(join(FOLDER, 'Dockerfile'), 'utf8')
const compose = readCompose(join(FOLDER, 'compose.yaml'))
const manifests = ['verifier', 'sequencer', 'batch-submitter'].flatMap((name) =>
  readManifests(join(FOLDER, 'kubernetes', `${name}.yaml`)),
)
const workloads = manifests.filter((one): one is Workload => one.kind === 'StatefulSet' || one.kind === 'Deployment')
const services = manifests.filter((one) => one.kind === 'Service')
const containersOf = ({ spec }: Workload): Container[] => [
  ...spec.template.spec.initContainers,
  ...spec.template.spec.containers,
]

/** What a program would refuse: names that it does not have, values that it cannot read. */
function problemsOf(words: readonly string[], variables: readonly string[]): string[] {
  const [name = '', ...args] = words
  if (name === 'op-conductor') return conductorProblems(args, variables)
  const program = PROGRAMS[name]?.()
  if (program === undefined) return [`no program ${name}`]
  const problem = problemOf(program, args)
  const values = args.flatMap((arg) => {
    const [, long, value] = /^(--[^=]+)=(.*)$/.exec(arg) ?? []
    const option = program.options.find((one) => one.long === long)
    try {
      if (value !== undefined) option?.parseArg?.(value, undefined)
      return []
    } catch (error) {
      return [`${arg}: ${error}`]
    }
  })
  const known = program.options.flatMap(({ description }) => /\[(\w+)\]$/.exec(description)?.[1] ?? [])
  const unknown = variables.filter((variable) => variable !== HEALTHY && !known.includes(variable))
  return [
    ...(problem === undefined ? [] : [problem]),
    ...values,
    ...unknown.map((variable) => `no variable ${variable}`),
  ]
}

function conductorProblems(args: readonly string[], variables: readonly string[]): string[] {
  const flags = OP_CONDUCTOR_FLAGS.map((name) => `--${name}`)
  const known = OP_CONDUCTOR_FLAGS.map((name) => `OP_CONDUCTOR_${name.toUpperCase().replace(/[.-]/g, '_')}`)
  return [
    ...args.filter((arg) => !flags.includes(arg.split('=')[0] ?? '')),
    ...variables.filter((variable) => variable !== 'POD_NAME' && !known.includes(variable)),
  ]
}

/** The program and its flags: `sh -c` has a script first, and then, as `$0` and so on, what that goes on with. */
function wordsOf({ command, args }: Container): string[] {
  return command[0] === '/bin/sh' ? [...command.slice(3), ...args] : [...command, ...args]
}

function isSubset(some: Readonly<Record<string, string>>, all: Readonly<Record<string, string>>): boolean {
  return Object.entries(some).every(([key, value]) => all[key] === value)
}

describe('the compose file', () => {
  it.each(Object.entries(compose.services))('passes %s only flags and variables that its program has', (_, service) => {
    expect(problemsOf(service.command, Object.keys(service.environment))).toEqual([])
  })

  it('publishes only listening ports, and all except the p2p port on loopback', () => {
    const published = Object.values(compose.services).flatMap(({ ports }) => ports)
    const open = published.filter((port) => !port.startsWith('127.0.0.1:'))
    expect(open).toEqual(['9222:9222/tcp', '9222:9222/udp'])
    for (const { command, ports } of Object.values(compose.services)) {
      const defaults = command[0] === 'devium-geth' ? ['8545'] : []
      const listened = command.flatMap((word) => /(?:port|listen\.(?:tcp|udp))=(\d+)$/.exec(word)?.[1] ?? [])
      const inner = ports.map((port) => /(\d+)(\/\w+)?$/.exec(port)?.[1])
      expect(inner.filter((port) => port !== undefined && ![...listened, ...defaults].includes(port))).toEqual([])
    }
  })

  it('mounts only existing volumes and waits only for existing services', () => {
    const used = new Set<string>()
    for (const { volumes, depends_on: waitsFor } of Object.values(compose.services)) {
      for (const [name = ''] of volumes.map((volume) => volume.split(':'))) {
        if (!name.startsWith('$')) used.add(name)
      }
      for (const name of Object.keys(waitsFor)) expect(compose.services).toHaveProperty(name)
    }
    expect([...used].sort()).toEqual(Object.keys(compose.volumes).sort())
  })

  it('shares the secret of the Engine API through a volume', () => {
    for (const name of ['execution-client', 'rollup-node']) {
      const { command = [], volumes = [] } = compose.services[name] ?? {}
      expect(command.join(' ')).toContain('=/jwt/jwt.txt')
      expect(volumes.map((volume) => volume.replace(/:ro$/, ''))).toContain('jwt:/jwt')
    }
  })

  it('reads only variables that README.md names', () => {
    const text = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8')
    const fromOutside = Object.values(compose.services).flatMap(({ environment }) =>
      Object.entries(environment).flatMap(([name, value]) => (value === null ? [name] : [])),
    )
    const named = [...fromOutside, ...[...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)]
    expect(named.length).toBeGreaterThan(6)
    expect(named.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  })
})

describe.each(workloads.map((workload) => [workload.metadata.name, workload] as const))('%s', (_, workload) => {
  const { template, selector } = workload.spec
  const containers = containersOf(workload)
  const ports = containers.flatMap((container) => container.ports)
  const probes = template.spec.containers.flatMap((container) =>
    [container.startupProbe, container.livenessProbe, container.readinessProbe].flatMap((probe) =>
      probe === undefined ? [] : [{ container, probe }],
    ),
  )

  it('has only flags and variables that its programs have', () => {
    const programs = containers.filter((container) => container.name !== 'unpack-genesis')
    expect(programs.length).toBeGreaterThan(0)
    for (const container of programs) {
      const exported = container.command.join(' ').match(/OP_CONDUCTOR_\w+/g) ?? []
      const variables = [...container.env.map(({ name }) => name), ...exported]
      expect(problemsOf(wordsOf(container), variables), container.name).toEqual([])
    }
  })

  it('selects its own pods', () => {
    expect(template.metadata.labels).toEqual(selector.matchLabels)
    const others = workloads.filter((other) => other !== workload)
    for (const { spec } of others) expect(isSubset(selector.matchLabels, spec.template.metadata.labels)).toBe(false)
  })

  it('mounts each of its volumes, and no other', () => {
    const claims = workload.kind === 'StatefulSet' ? workload.spec.volumeClaimTemplates : []
    const volumes = [...template.spec.volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)]
    const mounted = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name))
    expect([...new Set(mounted)].sort()).toEqual(volumes.sort())
    // Every file that a flag names is on a volume that is mounted there.
    for (const container of containers) {
      const files = [...wordsOf(container)].flatMap((word) => /=(\/.*)$/.exec(word)?.[1] ?? [])
      const places = container.volumeMounts.map(({ mountPath }) => mountPath)
      expect(files.filter((file) => !places.some((place) => `${file}/`.startsWith(`${place}/`)))).toEqual([])
    }
  })

  it('names its ports, which all listen and are used by a service or a probe', () => {
    expect(new Set(ports.map(({ name }) => name)).size).toBe(ports.length)
    const targets = services
      .filter(({ spec }) => isSubset(spec.selector, template.metadata.labels))
      .flatMap(({ spec }) => spec.ports.map(({ targetPort }) => targetPort))
    const probed = probes.flatMap(({ probe }) => probe.httpGet?.port ?? probe.tcpSocket?.port ?? [])
    const names = ports.map(({ name }) => name)
    expect([...targets, ...probed].filter((name) => !names.includes(name))).toEqual([])
    expect(names.filter((name) => !targets.includes(name))).toEqual([])
    for (const container of containers) {
      const words = wordsOf(container)
      for (const { name, containerPort } of container.ports) {
        // The default of --http.port.
        if (name === 'eth-rpc') expect(containerPort).toBe(8545)
        else expect(words.filter((word) => word.endsWith(`=${containerPort}`)).length, name).toBeGreaterThan(0)
      }
    }
  })

  it('has probes on existing paths', () => {
    for (const { container, probe } of probes) {
      const address = probe.exec?.command.at(-1) ?? ''
      const path = probe.httpGet?.path ?? (address === '' ? undefined : new URL(address).pathname)
      if (path === undefined) expect(container.name).toBe('op-conductor')
      else expect(path).toBe(probe === container.readinessProbe ? '/readyz' : '/healthz')
      if (address !== '') expect(wordsOf(container)).toContain(`--rpc.port=${new URL(address).port}`)
    }
    const node = template.spec.containers.find(({ name }) => name === 'rollup-node')
    if (node !== undefined) expect(node.readinessProbe).toBeDefined()
  })

  it('needs only secrets and settings that README.md lists', () => {
    const ofEnvironment = containers.flatMap(({ env }) =>
      env.flatMap(({ valueFrom }) => valueFrom.secretKeyRef ?? valueFrom.configMapKeyRef ?? []),
    )
    const ofVolumes = template.spec.volumes.flatMap(({ secret, configMap }) =>
      (secret?.items ?? configMap?.items ?? []).map(({ key }) => ({
        name: secret?.secretName ?? configMap?.name ?? '',
        key,
      })),
    )
    const required = [...ofEnvironment, ...ofVolumes]
    expect(required.length).toBeGreaterThan(0)
    const rows = readme.split('\n').filter((line) => /^\| (Secret|ConfigMap) \|/.test(line))
    const isListed = ({ name, key }: { name: string; key: string }): boolean =>
      rows.some((row) => row.includes(`| \`${name}\` |`) && row.includes(`\`${key}\``))
    expect(required.filter((one) => !isListed(one))).toEqual([])
  })

  it('reaches other pods by names and ports of their services', () => {
    const urls = containers.flatMap((container) =>
      wordsOf(container).flatMap((word) => [...word.matchAll(/http:\/\/([\w.-]+):(\d+)/g)]),
    )
    for (const [url, host = '', port = ''] of urls) {
      if (host === '127.0.0.1') continue
      const [pod = '', service] = host.split('.')
      const found = services.find(({ metadata }) => metadata.name === service)
      expect(
        found?.spec.ports.map((one) => one.port),
        url,
      ).toContain(Number(port))
      const [set, index = ''] = [pod.replace(/-\d+$/, ''), /\d+$/.exec(pod)?.[0]]
      const target = workloads.find(({ metadata }) => metadata.name === set)
      expect(Number(index), url).toBeLessThan(target?.spec.replicas ?? 0)
    }
  })
})

describe('the manifests', () => {
  const byName = <K extends Manifest['kind']>(kind: K, name: string) =>
    manifests.filter((one): one is Extract<Manifest, { kind: K }> => one.kind === kind && one.metadata.name === name)

  it('run one batch submitter, which stops before its replacement starts', () => {
    const [submitter] = byName('Deployment', 'devium-batch-submitter')
    expect(submitter?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  })

  it('run three sequencers, each with a conductor on its loopback', () => {
    const [set] = byName('StatefulSet', 'devium-sequencer')
    expect(set?.spec.replicas).toBe(3)
    const node = set?.spec.template.spec.containers.find(({ name }) => name === 'rollup-node')
    // From elsewhere nobody may start it, and the conductor has no token.
    expect(node?.args).toContain('--rpc.addr=127.0.0.1')
    expect(node?.args).toContain('--conductor.enabled')
  })

  it('give each StatefulSet its headless service, and select existing pods', () => {
    for (const workload of workloads) {
      if (workload.kind !== 'StatefulSet') continue
      const [service] = byName('Service', workload.spec.serviceName)
      expect(service?.spec.clusterIP).toBe('None')
      expect(service?.spec.selector).toEqual(workload.spec.selector.matchLabels)
    }
    const selected = manifests.flatMap((one) => {
      if (one.kind === 'PodDisruptionBudget') return [one.spec.selector.matchLabels]
      if (one.kind === 'NetworkPolicy') return [one.spec.podSelector.matchLabels]
      return one.kind === 'Service' ? [one.spec.selector] : []
    })
    for (const labels of selected) {
      expect(workloads.some(({ spec }) => isSubset(labels, spec.template.metadata.labels))).toBe(true)
    }
  })

  it('allow access by name to every port of the sequencers', () => {
    const [policy] = byName('NetworkPolicy', 'devium-sequencer')
    const [set] = byName('StatefulSet', 'devium-sequencer')
    const open = policy?.spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port)) ?? []
    const names = set?.spec.template.spec.containers.flatMap(({ ports }) => ports.map(({ name }) => name)) ?? []
    expect([...new Set(open)].sort()).toEqual(names.sort())
    const forAll = policy?.spec.ingress.filter(({ from }) => from === undefined).flatMap(({ ports }) => ports)
    expect(forAll?.map(({ port }) => port)).not.toContain('conductor-rpc')
  })
})

describe('the image', () => {
  it('copies existing files only, and none that .dockerignore excludes', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) => list.split(' '))
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    const letIn = readFileSync(join(FOLDER, 'Dockerfile.dockerignore'), 'utf8').match(/(?<=^!).+$/gm) ?? []
    expect([...letIn].sort()).toEqual(copied.sort())
  })

  it('contains all programs, runs none as root, and has a health check', () => {
    const [, linked = ''] = /^RUN for program in ([^;]+);/m.exec(dockerfile) ?? []
    expect(linked.split(' ').sort()).toEqual(['devium', ...Object.keys(PROGRAMS)].sort())
    for (const program of linked.split(' ')) expect(existsSync(join(ROOT, 'bin', `${program}.mjs`))).toBe(true)
    expect([...dockerfile.matchAll(/^USER (\w+)$/gm)].at(-1)?.[1]).toBe('node')
    expect(dockerfile).toMatch(/^ENV HEALTH_URL=\S+\/healthz$/m)
    expect(dockerfile).toMatch(/^HEALTHCHECK [^\n]*\\\n {2}CMD \["node", "-e", "fetch\(process\.env\.HEALTH_URL\)/m)
  })
})
