import type { Container, Pod } from './pods.ts'
import { toYaml, type Yaml } from './yaml.ts'

const FIRST_PORT = 9500

/** The compose file, which stands beside `chain/`. It publishes the RPCs on loopback, ten ports a node from 9500. */
export function composeFile(pods: readonly Pod[]): string {
  const services = pods.flatMap((pod, index) => servicesOf(pod, FIRST_PORT + 10 * index))
  const volumes = Object.fromEntries(pods.map(({ name }) => [`${name}-data`, null]))
  return `${toYaml({ name: 'devium-testnet', services: Object.fromEntries(services), volumes })}\n`
}

function servicesOf({ name: pod, init, containers, ports }: Pod, firstPort: number): [string, Yaml][] {
  const volumes = [`${pod}-data:/data`, './chain:/chain:ro', ...(pod === 'l1' ? ['./l1-state:/l1-state:ro'] : [])]
  const published = [ports.rollup, ports.eth]
    .filter((port) => port !== undefined)
    .map((port, index) => `127.0.0.1:${firstPort + index}:${port}`)
  const common = ({ image, command, env }: Container): Record<string, Yaml> => ({
    image,
    // Compose replaces `$name` by a variable of the environment.
    command: command.map((word) => word.replaceAll('$', '$$$$')),
    volumes,
    ...(Object.keys(env).length === 0 ? {} : { environment: env }),
  })
  const before: Yaml = Object.fromEntries(
    init.map(({ name }) => [name, { condition: 'service_completed_successfully' }]),
  )
  return [
    ...init.map((each): [string, Yaml] => [
      each.name,
      { ...common(each), restart: 'no', healthcheck: { disable: true } },
    ]),
    ...containers.map((each, index): [string, Yaml] => {
      const [first] = containers
      const health = each.health === undefined ? undefined : `http://127.0.0.1:${each.health.port}${each.health.path}`
      return [
        each.name,
        {
          ...common(each),
          restart: 'unless-stopped',
          stop_grace_period: '60s',
          ...(health === undefined ? { user: 'root', entrypoint: [] } : {}),
          ...(health === undefined ? {} : { environment: { ...each.env, HEALTH_URL: health } }),
          // All programs of a node share the network address of its first one.
          ...(index === 0 || first === undefined
            ? { ports: published, depends_on: before }
            : {
                network_mode: `service:${first.name}`,
                depends_on: { [first.name]: { condition: 'service_healthy' } },
              }),
        },
      ]
    }),
  ]
}
