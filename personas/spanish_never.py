"""PURE. Words and phrases that no Spanish drafted line may contain, each list with its reason."""

TECHNICAL = (
    *("error", "errores", "fallo", "fallos", "falló", "falla", "fallas", "fallado", "inválido", "inválida"),
    *("no válido", "no válida", "técnico", "técnica", "técnicos", "técnicas", "mantenimiento"),
    *("servidor", "servidores", "sistema", "sistemas", "modelo", "modelos", "proveedor"),
    *("base de datos", "red", "conectar", "conectado", "conectada", "conexión", "conexiones"),
    *("desconectado", "solicitud", "petición"),
    *("tiempo de espera", "política", "políticas", "alerta", "alertas", "marcado", "violación", "infracción"),
    *("usuario", "usuarios", "usuaria", "usuarias"),
)

UNKIND = (
    *("ups", "uy", "aguante", "aguarde", "tenga paciencia", "cálmese", "tranquilícese", "alta demanda"),
    *("debe", "debería", "tiene que saber", "está obligado", "está obligada"),
    *("le extrañé", "lo extrañé", "la extrañé", "le extraño", "no se vaya"),
    *("por su culpa", "usted falló", "se le olvidó", "se equivocó", "cometió"),
)

PROMISES = (
    *("pronto", "enseguida", "en seguida", "de inmediato", "inmediatamente", "ahorita", "ya mismo"),
    *("ahora mismo", "en un momento", "un momento", "un minuto", "un minutito", "un segundo", "en breve"),
    *("cuanto antes",),
)

PLACES = (
    *("en la fila", "en la cola", "en cola", "delante de usted", "antes que usted", "posición", "su turno"),
    *("número uno", "el siguiente", "la siguiente"),
)

HOOKS = (
    *("extraño", "extrañé", "extrañaré", "no se vaya", "quédese", "espere", "antes de irse", "una cosa más"),
    *("está seguro", "está segura", "vuelva pronto", "hasta pronto", "sin usted", "por favor vuelva"),
)

NUMBERS = (
    *("un", "una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "quince"),
    *("veinte", "treinta", "cuarenta", "sesenta", "media", "medio", "unos", "unas", "pocos", "pocas"),
)

FAMILIAR = (
    *("tú", "ti", "contigo", "tu", "tus", "tuyo", "tuya", "vos", "eres", "sos", "puedes", "podés", "quieres"),
    *("querés", "tienes", "tenés", "estás", "te", "vosotros", "vosotras", "os", "vuestro", "vuestra"),
)
"""The reader is *usted* in every line: two ways of address sound like two writers."""
