import { readFileSync } from 'node:fs'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

// The members of compose files and manifests that docs/deploy uses. Any other name is a typing error.

const texts = z.array(z.string())
const labels = z.record(z.string(), z.string())
const protocol = z.literal('UDP').optional()

const condition = z.enum(['service_healthy', 'service_completed_successfully'])

const composeSchema = z.strictObject({
  name: z.string(),
  /** Each service refers to it. */
  'x-program': z.unknown(),
  services: z.record(
    z.string(),
    z.strictObject({
      image: z.literal('devium'),
      build: z.strictObject({ context: z.string(), dockerfile: z.string() }),
      restart: z.enum(['unless-stopped', 'no']),
      stop_grace_period: z.string().regex(/^\d+s$/),
      read_only: z.literal(true),
      tmpfs: texts,
      cap_drop: z.tuple([z.literal('ALL')]),
      security_opt: z.tuple([z.literal('no-new-privileges:true')]),
      healthcheck: z.strictObject({ disable: z.literal(true) }).optional(),
      command: texts,
      environment: z.record(z.string(), z.string().nullable()).default({}),
      depends_on: z.record(z.string(), z.strictObject({ condition })).default({}),
      ports: texts.default([]),
      volumes: texts.default([]),
      profiles: texts.default([]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
})
export type ComposeService = z.infer<typeof composeSchema>['services'][string]

export function readCompose(path: string): z.infer<typeof composeSchema> {
  return composeSchema.parse(parse(readFileSync(path, 'utf8'), { merge: true }))
}

const httpGet = z.strictObject({ path: z.string(), port: z.string() })
const probe = z.strictObject({
  httpGet: httpGet.optional(),
  tcpSocket: z.strictObject({ port: z.string() }).optional(),
  exec: z.strictObject({ command: texts }).optional(),
  initialDelaySeconds: z.int().optional(),
  periodSeconds: z.int().optional(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
})
const keyRef = z.strictObject({ name: z.string(), key: z.string(), optional: z.boolean().optional() })

/** A quantity of CPU, memory or disk. */
const quantity = z.string().regex(/^\d+(m|Mi|Gi)?$/)
const requests = z.record(z.enum(['cpu', 'memory']), quantity)

const containerSchema = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: texts,
  args: texts.default([]),
  env: z
    .array(
      z.strictObject({
        name: z.string(),
        valueFrom: z.strictObject({
          secretKeyRef: keyRef.optional(),
          configMapKeyRef: keyRef.optional(),
          fieldRef: z.strictObject({ fieldPath: z.string() }).optional(),
        }),
      }),
    )
    .default([]),
  ports: z.array(z.strictObject({ name: z.string().max(15), containerPort: z.int(), protocol })).default([]),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  resources: z.strictObject({ requests }).optional(),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
})
export type Container = z.infer<typeof containerSchema>

const items = z.array(z.strictObject({ key: z.string(), path: z.string() }))
const antiAffinity = z.strictObject({ topologyKey: z.string(), labelSelector: z.strictObject({ matchLabels: labels }) })
const podSpecSchema = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  affinity: z
    .strictObject({
      podAntiAffinity: z.strictObject({ requiredDuringSchedulingIgnoredDuringExecution: z.array(antiAffinity) }),
    })
    .optional(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().positive(),
    fsGroup: z.int().positive(),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  initContainers: z.array(containerSchema).default([]),
  containers: z.array(containerSchema),
  volumes: z.array(
    z.strictObject({
      name: z.string(),
      configMap: z.strictObject({ name: z.string(), items: items.optional() }).optional(),
      secret: z.strictObject({ secretName: z.string(), items, defaultMode: z.int() }).optional(),
      emptyDir: z.strictObject({}).optional(),
    }),
  ),
})

const workload = {
  selector: z.strictObject({ matchLabels: labels }),
  template: z.strictObject({ metadata: z.strictObject({ labels }), spec: podSpecSchema }),
  replicas: z.int(),
}
const claimSpec = z.strictObject({
  accessModes: z.tuple([z.literal('ReadWriteOnce')]),
  resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
})
const metadata = z.strictObject({ name: z.string(), labels: labels.optional() })
const portName = z.strictObject({ port: z.string(), protocol })
const podSelector = z.strictObject({ podSelector: z.strictObject({ matchLabels: labels }) })

const manifestSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('StatefulSet'),
    apiVersion: z.literal('apps/v1'),
    metadata,
    spec: z.strictObject({
      ...workload,
      serviceName: z.string(),
      podManagementPolicy: z.literal('Parallel'),
      volumeClaimTemplates: z.array(z.strictObject({ metadata, spec: claimSpec })),
    }),
  }),
  z.strictObject({
    kind: z.literal('Deployment'),
    apiVersion: z.literal('apps/v1'),
    metadata,
    spec: z.strictObject({ ...workload, strategy: z.strictObject({ type: z.literal('Recreate') }) }),
  }),
  z.strictObject({
    kind: z.literal('Service'),
    apiVersion: z.literal('v1'),
    metadata,
    spec: z.strictObject({
      clusterIP: z.literal('None').optional(),
      selector: labels,
      publishNotReadyAddresses: z.literal(true).optional(),
      ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string(), protocol })),
    }),
  }),
  z.strictObject({
    kind: z.literal('PodDisruptionBudget'),
    apiVersion: z.literal('policy/v1'),
    metadata,
    spec: z.strictObject({ maxUnavailable: z.int(), selector: z.strictObject({ matchLabels: labels }) }),
  }),
  z.strictObject({
    kind: z.literal('NetworkPolicy'),
    apiVersion: z.literal('networking.k8s.io/v1'),
    metadata,
    spec: z.strictObject({
      podSelector: z.strictObject({ matchLabels: labels }),
      policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
      ingress: z.array(z.strictObject({ from: z.array(podSelector).optional(), ports: z.array(portName) })),
    }),
  }),
])
export type Manifest = z.infer<typeof manifestSchema>
export type Workload = Extract<Manifest, { kind: 'StatefulSet' | 'Deployment' }>

/** The documents of a manifest file. Throws if it is not YAML, or has members that are not listed above. */
export function readManifests(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    return manifestSchema.parse(document.toJS())
  })
}
